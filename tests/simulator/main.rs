//! The simulator through the library: happens-before against enumeration, addresses, and every opcode against its table.

mod addresses;
mod barrier_rule;
mod clock_model;
mod happens_before;
mod judge;
mod litmus;
mod race_rule;
mod tables;
mod unnamed_lanes;
