//! Spans, labels and rendering of diagnostics.
