//! Whether the client is still there.
//!
//! The end of the input says nothing of that: who pipes a file of requests waits for every answer. The end of whoever
//! reads the answers does: a client that was killed, at whatever it was, leaves pipes that have no other end.

/// Whether nobody can read the standard output any more; false where that cannot be known.
#[cfg(unix)]
pub fn is_gone() -> bool {
    use std::os::fd::AsFd;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    let out = std::io::stdout();
    let mut asked = [PollFd::new(out.as_fd(), PollFlags::empty())];
    let gone = PollFlags::POLLERR | PollFlags::POLLHUP;
    poll(&mut asked, PollTimeout::ZERO).is_ok()
        && asked[0].revents().is_some_and(|r| r.intersects(gone))
}

/// Whether nobody can read the standard output any more: it is found out where an answer is written.
#[cfg(not(unix))]
pub fn is_gone() -> bool {
    false
}
