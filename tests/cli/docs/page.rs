//! A page as the test of commands reads it: what its blocks tell a shell to do, and which commands are not run.

use std::collections::BTreeMap;
use std::env;
use std::ops::Range;

/// What a block may need, for which it is not run.
const NEEDS: [&str; 6] = ["nvcc", "network", "python", "minutes", "docker", "gpu"];

/// Commands of indented blocks that are not run here.
const NOT_HERE: [&str; 1] = ["cargo test"];

fn has_nvcc() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::var_os("NVCC").is_some() || env::split_paths(&path).any(|p| p.join("nvcc").is_file())
}

/// What a page tells a shell to do.
#[derive(Debug)]
pub(super) enum Step {
    /// To write a file.
    File { name: String, text: String },
    /// To run a command.
    Call(Call),
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) exit: i32,
    /// The lines of the page that show what it prints, counted from 0.
    pub(super) shown: Option<Range<usize>>,
}

/// A command that is not run.
#[derive(Debug)]
pub(super) struct Synopsis {
    pub(super) line: usize,
    pub(super) text: String,
}

/// A page as this test reads it.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) steps: Vec<Step>,
    pub(super) synopses: Vec<Synopsis>,
    /// How many commands are not run, by what they need.
    pub(super) kept: BTreeMap<String, usize>,
    pub(super) wrong: Vec<String>,
}

/// The words behind a fence.
#[derive(Debug, Default)]
struct Fence {
    language: String,
    file: Option<String>,
    needs: Option<String>,
}

impl Fence {
    fn parse(words: &str) -> Result<Fence, String> {
        let (language, rest) = words.split_once(' ').unwrap_or((words, ""));
        let mut out = Fence {
            language: language.to_string(),
            ..Fence::default()
        };
        let (first, why) = rest.split_once(": ").unwrap_or((rest, ""));
        for word in first.split_whitespace() {
            if let Some(name) = word.strip_prefix("file=") {
                out.file = Some(name.to_string());
            } else if let Some(need) = word.strip_prefix("needs-") {
                if !NEEDS.contains(&need) {
                    return Err(format!("`{need}` is nothing that a block can need"));
                }
                if why.trim().is_empty() {
                    return Err(format!("`needs-{need}` has no reason: `needs-{need}: why`"));
                }
                out.needs = Some(need.to_string());
            } else {
                return Err(format!("`{word}` says nothing behind a fence"));
            }
        }
        Ok(out)
    }

    /// Whether its commands are not run: those that need nvcc are where it is.
    fn is_kept(&self) -> bool {
        match self.needs.as_deref() {
            None => false,
            Some("nvcc") => !has_nvcc(),
            Some(_) => true,
        }
    }
}

/// A command, or none, of a line.
fn command(line: &str) -> Option<&str> {
    let line = line.trim_start().trim_start_matches("- ");
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let ours = line == "volta"
        || line.starts_with("volta ")
        || line.starts_with("cargo run --release -- ");
    ours.then_some(line)
}

/// Whether a command stands for many: a word in capitals, `[` or `...`.
fn is_open(command: &str) -> bool {
    command.split_whitespace().any(|word| {
        let stem = word.split(['.', '=']).next().unwrap_or(word);
        let capitals = stem.len() > 1 && stem.chars().all(|c| c.is_ascii_uppercase());
        capitals || word.starts_with('[') || word.ends_with("...")
    })
}

impl Page {
    pub(super) fn read(text: &str) -> Page {
        let lines: Vec<&str> = text.lines().collect();
        let mut out = Page::default();
        let mut at = 0;
        while at < lines.len() {
            let line = lines[at];
            at += 1;
            if let Some(words) = line.strip_prefix("```") {
                let length = lines[at..]
                    .iter()
                    .take_while(|l| !l.starts_with("```"))
                    .count();
                match Fence::parse(words.trim()) {
                    Ok(fence) => out.block(&fence, &lines, at..at + length),
                    Err(why) => out.wrong.push(format!("{at}: {why}")),
                }
                at += length + 1;
            } else if line.starts_with("    ") {
                match command(line) {
                    Some(text) => out.call(at, text, None),
                    None if NOT_HERE.contains(&line.trim()) => {
                        *out.kept.entry("tests".into()).or_default() += 1
                    }
                    None => {}
                }
            } else {
                out.sentence(at, line);
            }
        }
        out
    }

    fn call(&mut self, line: usize, text: &str, shown: Option<Range<usize>>) {
        let exit = text
            .rsplit_once("# exit ")
            .map_or(Some(0), |(_, n)| n.trim().parse().ok());
        let Some(exit) = exit else {
            return self
                .wrong
                .push(format!("{line}: `# exit` wants a number: {text}"));
        };
        self.steps.push(Step::Call(Call {
            line,
            text: text.to_string(),
            exit,
            shown,
        }));
    }

    /// The block of a fence.
    fn block(&mut self, fence: &Fence, lines: &[&str], range: Range<usize>) {
        let is_shell = matches!(fence.language.as_str(), "sh" | "console");
        if let (Some(name), false) = (&fence.file, is_shell) {
            let text: String = lines[range].iter().map(|l| format!("{l}\n")).collect();
            return self.steps.push(Step::File {
                name: name.clone(),
                text,
            });
        }
        let mut at = range.start;
        while at < range.end {
            let (line, number) = (lines[at], at + 1);
            at += 1;
            let prompt = match fence.language.as_str() {
                "sh" => Some(line).filter(|l| !l.trim().is_empty() && !l.starts_with('#')),
                "console" => line.strip_prefix("$ "),
                language => {
                    if let Some(text) = command(line) {
                        self.unrun(number, text, language);
                    }
                    continue;
                }
            };
            let Some(prompt) = prompt else {
                if fence.language == "console" {
                    self.wrong
                        .push(format!("{number}: no command is above this output"));
                }
                continue;
            };
            let mut text = prompt.to_string();
            while text.ends_with('\\') && at < range.end {
                text.pop();
                text.push_str(lines[at].trim_start_matches("> "));
                at += 1;
            }
            let end = at
                + lines[at..range.end]
                    .iter()
                    .take_while(|l| !l.starts_with("$ "))
                    .count();
            let shown = (fence.language == "console").then_some(at..end);
            if fence.language == "console" {
                at = end;
            }
            match (&fence.needs, fence.is_kept()) {
                (Some(need), true) => {
                    *self.kept.entry(need.clone()).or_default() += 1;
                    if let Some(text) = command(&text) {
                        self.synopses.push(Synopsis {
                            line: number,
                            text: text.to_string(),
                        });
                    }
                }
                _ => self.call(number, &text, shown),
            }
        }
    }

    /// A command in a block that is not for a shell.
    fn unrun(&mut self, line: usize, text: &str, language: &str) {
        let may = match language {
            "yaml" => true,
            "text" => is_open(text),
            _ => false,
        };
        match may {
            true => self.synopses.push(Synopsis {
                line,
                text: text.to_string(),
            }),
            false => self.wrong.push(format!(
                "{line}: a command that is neither run nor open: {text}"
            )),
        }
    }

    /// Commands and flags in the code of a sentence.
    fn sentence(&mut self, line: usize, text: &str) {
        for code in text.split('`').skip(1).step_by(2) {
            let is_flag = code.starts_with("--") && code.len() > 2;
            if is_flag || code.starts_with("volta ") {
                let text = code.to_string();
                self.synopses.push(Synopsis { line, text });
            }
        }
    }
}
