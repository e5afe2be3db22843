//! `volta serve`: requests and answers as JSON lines, for harnesses and for programs in other languages.
//!
//! The problem: thousands of candidates that programs wrote, some of which hang, eat memory or find an error of
//! volta itself, against references that are read once. So the process that talks to the client computes
//! nothing: it keeps the queue and the handles, and each request runs in a worker process ([`pool`]), which is
//! this program again. What ends a worker costs the request that it was at, and another worker takes its place.
//!
//! Bounded: the length of a line, the requests that wait (then no more is read), the references
//! that are held (then the least recently used is dropped, and asking for it says so), the memory of a worker.
//!
//! Not claimed: an order of answers. They come as they are ready.

use std::collections::VecDeque;
use std::io::{BufRead, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::answer::Failure;
use crate::spec::limits;

mod answer;
pub mod client;
mod handles;
mod job;
mod kernel;
mod pool;
mod request;
mod several;
mod subject;
pub mod worker;

use handles::{Handles, Prepared};
use request::{Line, Request};

/// Longest line of a client in bytes.
const LONGEST_LINE: u64 = 64 << 20;

/// Bytes of requests that wait; beyond, no more is read until some are done.
const MOST_WAITING: usize = 256 << 20;

/// How often the state of the process is looked at while nothing happens.
const TICK: Duration = Duration::from_millis(100);

/// How long requests that were stopped have to say so.
const PARTING: Duration = Duration::from_secs(2);

/// How a server works.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program that workers run.
    pub program: PathBuf,
    /// Number of worker processes.
    pub jobs: usize,
    /// Threads of each worker.
    pub threads: usize,
    /// Bytes that each worker may hold.
    pub memory: Option<u64>,
    /// Whether CUDA files are compiled.
    pub compile: bool,
    /// Whether nobody reads answers any more.
    pub is_gone: fn() -> bool,
}

/// A request on its way.
struct Work {
    id: Value,
    request: Request,
    /// The reference that its handle named when it came.
    prepared: Option<Arc<Prepared>>,
    bytes: usize,
    is_cancelled: AtomicBool,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Work>>,
    waiting_bytes: usize,
    running: Vec<Arc<Work>>,
    handles: Handles,
    /// No more requests will come.
    is_closed: bool,
}

struct Server {
    state: Mutex<State>,
    /// Something waits, or nothing more will.
    work: Condvar,
    /// Something is done.
    done: Condvar,
    out: Mutex<Box<dyn Write + Send>>,
}

/// Answers every line of `input` on `out`; ends at the end of the input, when all is answered, or on an interrupt, or
/// when nobody reads answers any more. False if it could not wait for all that it started: then the process must be
/// ended, since whoever writes to a client that does not read writes for ever.
pub fn serve(
    input: impl BufRead + Send + 'static,
    out: impl Write + Send + 'static,
    options: &Options,
) -> bool {
    let server = Arc::new(Server {
        state: Mutex::default(),
        work: Condvar::new(),
        done: Condvar::new(),
        out: Mutex::new(Box::new(out)),
    });
    // The reader may wait for a line for ever, so that it is not joined.
    let reader = server.clone();
    std::thread::spawn(move || reader.read(input));
    let slots: Vec<_> = (0..options.jobs.max(1))
        .map(|_| {
            let (server, options) = (server.clone(), options.clone());
            std::thread::spawn(move || server.work(&options))
        })
        .collect();
    let mut stopped: Option<Instant> = None;
    let mut state = server.state();
    while !(state.is_closed && state.waiting.is_empty() && state.running.is_empty()) {
        if limits::interrupted() || (options.is_gone)() {
            state.close();
            if stopped.get_or_insert_with(Instant::now).elapsed() > PARTING {
                return false;
            }
        }
        let waited = server.done.wait_timeout(state, TICK);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    drop(state);
    server.work.notify_all();
    for slot in slots {
        let _ = slot.join();
    }
    true
}

impl State {
    /// Takes no more, and cancels what is on its way.
    fn close(&mut self) {
        self.is_closed = true;
        for work in self.running.iter().chain(&self.waiting) {
            work.is_cancelled.store(true, Ordering::Relaxed);
        }
    }
}

impl Server {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an answer; a client that reads no more ends the server.
    fn say(&self, line: &str) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let done = writeln!(out, "{line}").and_then(|()| out.flush());
        drop(out);
        if done.is_err() {
            self.state().close();
            self.work.notify_all();
        }
    }

    fn read(&self, mut input: impl BufRead) {
        loop {
            let mut line = Vec::new();
            let read = input
                .by_ref()
                .take(LONGEST_LINE)
                .read_until(b'\n', &mut line);
            match read {
                Ok(0) | Err(_) => break,
                Ok(n) if n as u64 == LONGEST_LINE && line.last() != Some(&b'\n') => {
                    let why = format!("a line is longer than {LONGEST_LINE} bytes");
                    self.say(&answer::refused(&Value::Null, &answer::usage(why)));
                    if !skip_line(&mut input) {
                        break;
                    }
                }
                Ok(_) if line.iter().all(u8::is_ascii_whitespace) => {}
                Ok(n) => self.take(Line::parse(&line), n),
            }
        }
        self.state().is_closed = true;
        self.work.notify_all();
        self.done.notify_all();
    }

    /// Answers what needs no worker, and puts the rest into the queue.
    fn take(&self, line: Line, bytes: usize) {
        let Line { id, request } = line;
        let refuse = |f: &Failure| self.say(&answer::refused(&id, f));
        let request = match request {
            Ok(request) => request,
            Err(failure) => return refuse(&failure),
        };
        let prepared = match &request {
            Request::Version {} => return self.say(&answer::version(&id)),
            Request::Explain { kind } => {
                return match answer::explained(&id, kind.as_deref()) {
                    Ok(line) => self.say(&line),
                    Err(failure) => refuse(&failure),
                };
            }
            Request::Release { handle } => {
                return match self.state().handles.release(handle) {
                    Ok(()) => self.say(&answer::line(&json!({"id": id, "ok": true}))),
                    Err(failure) => refuse(&failure),
                };
            }
            Request::Cancel { target } => {
                return match self.cancel(target) {
                    true => self.say(&answer::line(&json!({"id": id, "ok": true}))),
                    false => {
                        let why = format!("no request {target} is under way");
                        refuse(&answer::usage(why))
                    }
                };
            }
            Request::Ask(ask) => {
                let handle = ask.handle.as_ref();
                let held = handle.map(|handle| self.state().handles.get(handle));
                match held.transpose() {
                    Ok(prepared) => prepared,
                    Err(failure) => return refuse(&failure),
                }
            }
            Request::Prepare(_) => None,
        };
        let work = Arc::new(Work {
            id,
            request,
            prepared,
            bytes,
            is_cancelled: AtomicBool::new(false),
        });
        let mut state = self.state();
        while state.waiting_bytes > MOST_WAITING {
            state = self
                .done
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting_bytes += bytes;
        state.waiting.push_back(work);
        drop(state);
        self.work.notify_one();
    }

    /// Cancels the requests with this id; false if there is none.
    fn cancel(&self, target: &Value) -> bool {
        let state = self.state();
        let mut found = false;
        for work in state.running.iter().chain(&state.waiting) {
            if work.id == *target {
                work.is_cancelled.store(true, Ordering::Relaxed);
                found = true;
            }
        }
        found
    }

    /// The next request; `None` when no more will come.
    fn next(&self) -> Option<Arc<Work>> {
        let mut state = self.state();
        loop {
            if let Some(work) = state.waiting.pop_front() {
                state.waiting_bytes -= work.bytes;
                state.running.push(work.clone());
                return Some(work);
            }
            if state.is_closed {
                return None;
            }
            state = self
                .work
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Runs requests in one worker after the other, each of which lives as long as it can.
    fn work(&self, options: &Options) {
        let mut slot = pool::Slot::new(options);
        while let Some(work) = self.next() {
            let line = match &work.request {
                Request::Prepare(p) => {
                    let handle = self.state().handles.name();
                    match Prepared::new(handle, p) {
                        Err(failure) => answer::refused(&work.id, &failure),
                        Ok(prepared) => {
                            let prepared = Arc::new(prepared);
                            let line = slot.run(&work, Some(&prepared));
                            if answer::is_ok(&line) {
                                self.state().handles.keep(prepared);
                            }
                            line
                        }
                    }
                }
                _ => slot.run(&work, work.prepared.as_ref()),
            };
            // The client may use a handle as soon as it knows it, and cancel a request until it is answered.
            self.say(&line);
            self.state().running.retain(|w| !Arc::ptr_eq(w, &work));
            self.done.notify_all();
        }
    }
}

/// Reads to the end of a line; false at the end of the input.
fn skip_line(input: &mut impl BufRead) -> bool {
    loop {
        let (n, ended) = match input.fill_buf() {
            Ok([]) | Err(_) => return false,
            Ok(bytes) => match bytes.iter().position(|&b| b == b'\n') {
                Some(at) => (at + 1, true),
                None => (bytes.len(), false),
            },
        };
        input.consume(n);
        if ended {
            return true;
        }
    }
}
