//! Peak memory of this process, where the operating system tells it.
//!
//! Source: proc(5): `VmHWM` of `/proc/self/status` is the peak resident set, and writing 5 to
//! `/proc/self/clear_refs` resets it. Elsewhere nothing is reported.

/// The peak resident set in bytes since the last reset.
pub(super) fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

/// Starts a new measurement; where that is not possible the peak stays that of the process.
pub(super) fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
