//! References that clients have prepared: named, bounded in number and bytes, the least recently used dropped first.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::answer::Failure;

use super::answer;
use super::kernel::Launch;
use super::request::Prepare;
use super::subject::Subject;

/// Most references that are held.
const MOST: usize = 1024;

/// Most bytes of references that are held.
const MOST_BYTES: usize = 256 << 20;

/// A reference with its text as it was when it was prepared.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Its name.
    pub handle: String,
    /// Its text.
    pub reference: Subject,
    /// What holds for every check against it.
    pub launch: Launch,
    bytes: usize,
}

impl Prepared {
    /// Reads a reference.
    pub(super) fn new(handle: String, p: &Prepare) -> Result<Prepared, Failure> {
        let (reference, bytes) = p.reference.held("reference")?;
        if bytes > MOST_BYTES {
            let why = format!("a reference of {bytes} bytes is too long to be held");
            return Err(answer::usage(why));
        }
        Ok(Prepared {
            handle,
            reference,
            launch: p.launch.clone(),
            bytes,
        })
    }
}

/// All of them, the least recently used first.
#[derive(Debug, Default)]
pub(super) struct Handles {
    held: VecDeque<Arc<Prepared>>,
    bytes: usize,
    named: u64,
}

impl Handles {
    /// A new name.
    pub(super) fn name(&mut self) -> String {
        self.named += 1;
        format!("h{}", self.named)
    }

    /// Holds a reference, and drops others for it.
    pub(super) fn keep(&mut self, prepared: Arc<Prepared>) {
        self.bytes += prepared.bytes;
        self.held.push_back(prepared);
        while self.held.len() > MOST || self.bytes > MOST_BYTES {
            let Some(dropped) = self.held.pop_front() else {
                break;
            };
            self.bytes -= dropped.bytes;
        }
    }

    /// The reference of a name.
    pub(super) fn get(&mut self, handle: &str) -> Result<Arc<Prepared>, Failure> {
        let prepared = self.remove(handle)?;
        self.held.push_back(prepared.clone());
        Ok(prepared)
    }

    /// Drops a reference.
    pub(super) fn release(&mut self, handle: &str) -> Result<(), Failure> {
        let prepared = self.remove(handle)?;
        self.bytes -= prepared.bytes;
        Ok(())
    }

    fn remove(&mut self, handle: &str) -> Result<Arc<Prepared>, Failure> {
        let at = self.held.iter().position(|p| p.handle == handle);
        at.and_then(|at| self.held.remove(at)).ok_or_else(|| {
            let number = handle.strip_prefix('h').and_then(|n| n.parse().ok());
            let was_given = number.is_some_and(|n: u64| (1..=self.named).contains(&n));
            let why = match was_given {
                true => format!(
                    "handle `{handle}` is held no more: it was released, or dropped as the least recently used of more than {MOST}; prepare it again"
                ),
                false => format!("there is no handle `{handle}`"),
            };
            answer::usage(why)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::Kernel;
    use super::*;

    fn prepared(handles: &mut Handles, bytes: usize) -> String {
        let handle = handles.name();
        handles.keep(Arc::new(Prepared {
            handle: handle.clone(),
            reference: Subject::One(Kernel::text(String::new(), String::new())),
            launch: Launch::new(),
            bytes,
        }));
        handle
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut handles = Handles::default();
        let first = prepared(&mut handles, 1);
        let second = prepared(&mut handles, 1);
        for _ in 2..MOST {
            prepared(&mut handles, 1);
        }
        assert!(handles.get(&first).is_ok());
        prepared(&mut handles, 1);
        assert!(handles.get(&first).is_ok());
        let gone = handles.get(&second).expect_err("dropped");
        assert!(gone.message().contains("prepare it again"), "{gone:?}");
        let never = handles.get("h9999999").expect_err("never given");
        assert!(never.message().contains("there is no"), "{never:?}");
    }

    #[test]
    fn bytes_are_bounded_and_given_back() {
        let mut handles = Handles::default();
        let first = prepared(&mut handles, MOST_BYTES / 2);
        let second = prepared(&mut handles, MOST_BYTES / 2);
        assert!(handles.release(&first).is_ok());
        let third = prepared(&mut handles, MOST_BYTES / 2);
        assert!(handles.get(&second).is_ok());
        prepared(&mut handles, 1);
        assert!(handles.get(&third).is_err());
        assert!(handles.release(&third).is_err());
    }
}
