//! Worker processes: started when they are needed, watched while they work, replaced when they are lost.
//!
//! A worker keeps its own limits of time and memory and ends in `unknown`; the server watches both from
//! outside as well, with some room, since a computation may be slow to look at them.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::answer::Failure;
use crate::spec::limits;

use super::handles::Prepared;
use super::job::{Job, Reference};
use super::kernel::Launch;
use super::request::{How, Request};
use super::worker::{STARTED, lost};
use super::{Options, Work, answer};

/// References that one worker holds.
const MOST_HELD: usize = 32;

/// How often a job is given to another worker because one was lost before it began.
const MOST_TRIES: usize = 3;

/// How often a worker that works is looked at.
const TICK: Duration = Duration::from_millis(50);

/// Time beyond a request's own limit, in which its worker finds an end by itself.
fn grace(limit: Duration) -> Duration {
    (limit / 5).max(Duration::from_secs(1))
}

/// A place for one worker at a time.
pub(super) struct Slot<'a> {
    options: &'a Options,
    worker: Option<Worker>,
}

struct Worker {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    /// Handles that it holds, the least recently used first.
    held: VecDeque<String>,
}

/// How a job ended.
enum End {
    Answer(String),
    /// The worker ended; true if it had begun.
    Lost(bool),
    Stopped(&'static str),
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    fn start(options: &Options) -> std::io::Result<Worker> {
        let mut command = Command::new(&options.program);
        command.arg("serve-worker");
        command.args(["--jobs", &options.threads.to_string()]);
        if let Some(bytes) = options.memory {
            command.args(["--memory-limit", &bytes.to_string()]);
        }
        if options.compile {
            command.arg("--compile");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        };
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Worker {
            child,
            stdin,
            lines,
            held: VecDeque::new(),
        })
    }

    /// Handles to drop so that this one can be held; false with them if the worker does not hold it yet.
    fn hold(&mut self, handle: &str) -> (Vec<String>, bool) {
        let at = self.held.iter().position(|h| h == handle);
        let held = at.and_then(|at| self.held.remove(at)).is_some();
        self.held.push_back(handle.to_string());
        let more = self.held.len().saturating_sub(MOST_HELD);
        (self.held.drain(..more).collect(), held)
    }

    fn send(&mut self, line: &str) -> std::io::Result<()> {
        writeln!(self.stdin, "{line}")?;
        self.stdin.flush()
    }

    fn wait(&mut self, work: &Work, limit: Duration, options: &Options) -> End {
        let deadline = Instant::now().checked_add(limit + grace(limit));
        let most = options.memory.map(|bytes| bytes.saturating_add(bytes / 4));
        let mut began = false;
        loop {
            match self.lines.recv_timeout(TICK) {
                Ok(line) if line == STARTED => began = true,
                Ok(line) => return End::Answer(line),
                Err(RecvTimeoutError::Disconnected) => return End::Lost(began),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if work.is_cancelled.load(Ordering::Relaxed) {
                return End::Stopped("the request was cancelled");
            }
            if deadline.is_some_and(|d| Instant::now() >= d) {
                return End::Stopped("the time limit was reached");
            }
            if most.is_some_and(|most| self.resident() > most) {
                return End::Stopped("the memory limit was reached");
            }
        }
    }

    /// Bytes that it holds, as far as the system tells.
    fn resident(&self) -> u64 {
        limits::resident(&self.child.id()).unwrap_or(0)
    }

    fn status(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(e) => e.to_string(),
        }
    }
}

impl<'a> Slot<'a> {
    /// A place without a worker.
    pub(super) fn new(options: &'a Options) -> Slot<'a> {
        Slot {
            options,
            worker: None,
        }
    }

    /// Runs a request in a worker; the answer as a line.
    pub(super) fn run(&mut self, work: &Work, prepared: Option<&Arc<Prepared>>) -> String {
        let Some((command, how)) = work.request.how() else {
            return answer::refused(&work.id, &answer::usage("no worker does this"));
        };
        let launches = [prepared.map(|p| &p.launch), work.request.launch()];
        let launches: Vec<&Launch> = launches.into_iter().flatten().collect();
        let limit = how.limit(&launches);
        let fail = |why: &str| lost(&work.id, command, why, &how);
        for _ in 0..MOST_TRIES {
            if work.is_cancelled.load(Ordering::Relaxed) {
                return fail("the request was cancelled");
            }
            let mut worker = match self
                .worker
                .take()
                .map_or_else(|| Worker::start(self.options), Ok)
            {
                Ok(worker) => worker,
                Err(e) => return fail(&format!("cannot start a worker: {e}")),
            };
            let job = job(work, command, &how, prepared, &mut worker);
            let end = match job.map(|line| worker.send(&line)) {
                Err(failure) => return answer::refused(&work.id, &failure),
                Ok(Err(_)) => End::Lost(false),
                Ok(Ok(())) => worker.wait(work, limit, self.options),
            };
            match end {
                End::Answer(line) => {
                    self.keep(worker);
                    return line;
                }
                End::Stopped(why) => return fail(why),
                End::Lost(true) => {
                    let why = format!("the worker of this request died ({})", worker.status());
                    return fail(&why);
                }
                End::Lost(false) => {}
            }
        }
        fail("no worker lived long enough to begin")
    }

    /// Keeps a worker for the next request, unless what it holds by now leaves little room for it.
    fn keep(&mut self, worker: Worker) {
        let most = self.options.memory.unwrap_or(u64::MAX);
        if worker.resident() <= most / 2 {
            self.worker = Some(worker);
        }
    }
}

/// A request as a line for a worker.
fn job(
    work: &Work,
    command: &str,
    how: &How,
    prepared: Option<&Arc<Prepared>>,
    worker: &mut Worker,
) -> Result<String, Failure> {
    let mut drop = Vec::new();
    let mut held = |p: &Arc<Prepared>| {
        let (dropped, is_held) = worker.hold(&p.handle);
        drop = dropped;
        Reference {
            handle: Some(p.handle.clone()),
            kernel: (!is_held || p.reference.is_formula()).then(|| p.reference.clone()),
            launch: p.launch.clone(),
        }
    };
    let mut reference = prepared.map(&mut held);
    let (kernel, launch) = match &work.request {
        Request::Ask(ask) => {
            let given = ask.reference.clone();
            let given = given.map(|(kernel, launch)| Reference {
                handle: None,
                kernel: Some(kernel),
                launch,
            });
            reference = reference.or(given);
            (Some(ask.kernel.clone()), ask.launch.clone())
        }
        _ => (None, Launch::new()),
    };
    let job = Job {
        id: work.id.clone(),
        command: command.to_string(),
        reference,
        kernel,
        launch,
        how: how.clone(),
        drop,
    };
    serde_json::to_string(&job).map_err(|e| answer::usage(e.to_string()))
}
