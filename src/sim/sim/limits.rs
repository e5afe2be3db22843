//! Every bound of one run, in one table.
//!
//! Beyond a bound the machine says less: a finding that names it, or one of the obstacles that a further run answers; never
//! another value. Sizes of the hardware and of the layout of tables stand where they are used.

/// Bounds of one run.
pub(super) struct Bounds {
    // Values.
    /// Largest number of known values that a data-dependent integer may select among.
    pub(super) choices: usize,
    /// Selects within selects that are looked at when a condition is known.
    pub(super) nested_selects: usize,
    /// Sums within sums that are looked through for the constants that they may be.
    pub(super) nested_sums: usize,
    /// Most selections that a function is taken through.
    pub(super) selects: usize,
    /// Most bits that are tried out.
    pub(super) chosen_bits: u8,
    /// Most terms between the bits and the address.
    pub(super) choice_cone: usize,
    /// Most selects within each other of a value that conditions choose.
    pub(super) written_depth: usize,
    /// Terms of the conditions on one path to such a value.
    pub(super) written_conditions: usize,
    /// Comparisons in the conditions on one path to such a value.
    pub(super) written_comparisons: usize,
    /// Parts of a term that are looked at.
    pub(super) unwritten_parts: usize,
    /// Terms between a magnitude and the operand whose sign it gets.
    pub(super) sign_terms: usize,
    /// Moves and choices between a product and a sum that are looked through.
    pub(super) moves: usize,
    /// Bits of a significand from which on a large constant is not there to round.
    pub(super) mask_bits: u64,
    /// Values beyond which only the ends are kept.
    pub(super) rounded_values: usize,
    /// Exponents of powers of two that are followed.
    pub(super) exponent: i64,
    /// Operations that are looked through for a number that no rounding has touched.
    pub(super) exact_operations: usize,
    /// Operands of a maximum among which the other half of an update is looked for.
    pub(super) maximum_operands: usize,
    /// Conditions of a conjunction that are looked at.
    pub(super) update_conditions: usize,
    /// Terms of a condition that are looked at for what it asks.
    pub(super) missing_terms: usize,
    /// How many times the new products of a sum the old ones may be that are written out again.
    pub(super) open_growth: usize,
    /// Sums of at most this many products become a chain of additions.
    pub(super) chain: usize,
    /// Patterns of registers that one log of sums tells apart.
    pub(super) patterns: usize,
    /// Lanes for which a common log is no less than logs of their own.
    pub(super) log_lanes: u32,
    /// Slots of a cache that was just used first.
    pub(super) memo_first: usize,
    /// Slots of a cache that forgot too much.
    pub(super) memo_slots: usize,
    // Places.
    /// Most sides of choices that one operation is looked at for.
    pub(super) sides: usize,
    /// Bytes between an object's end and an address that is compared with one in it. No object of any device lies so
    /// near the end of the address space.
    pub(super) beyond: i64,
    /// Bits of a base that are asked for at most: layouts of shared memory repeat after 1024 bytes.
    pub(super) pinned_bits: u8,
    /// Runs of one CTA at most.
    pub(super) pinned_cases: usize,
    /// Lanes or turns of an instruction whose conditions are looked at.
    pub(super) place_conditions: usize,
    /// Terms of one index that are looked at.
    pub(super) gather_terms: usize,
    /// Elements of which data may choose one.
    pub(super) scatter_elements: usize,
    /// Further examples of a pair of instructions.
    pub(super) guarded_examples: usize,
    /// Accesses that are remembered.
    pub(super) guarded_accesses: usize,
    /// Terms times cases that are looked at.
    pub(super) guarded_cases: u64,
    /// Instructions in a row that access memory and that are out of bounds in all lanes that access it.
    pub(super) runaway_row: u32,
    /// Accesses out of bounds of one run.
    pub(super) runaway_accesses: u64,
    /// No CTA has as much shared memory.
    pub(super) bulk_bytes: u64,
    /// Most places that the assumption names.
    pub(super) dependent_places: usize,
    // Control flow.
    /// Most instructions of a warp in one walk.
    pub(super) walk_steps: u32,
    /// Most branches on one way.
    pub(super) walk_branches: usize,
    /// Rounds of a loop whose end asks numbers that data choose, after which no round is expected to be the last. An
    /// integer has bits to be used up, or a range that facts give; of a number nothing is used up, and where each
    /// round computes it from the one before, each asks more than that.
    pub(super) loop_rounds: usize,
    /// Units of work of a walk after which no round of such a loop is expected to be the last.
    pub(super) walk_work: u64,
    /// Rounds of a loop whose end asks bits of rounded numbers, of which no fact speaks.
    pub(super) loop_rounds_of_bits: usize,
    /// Parts of a condition that are looked at for what it compares.
    pub(super) compared_parts: usize,
    /// Instructions of the longest way to a failure.
    pub(super) assertion_steps: usize,
    /// Conditions that one run decides.
    pub(super) path_conditions: usize,
    /// Terms of one condition that are looked at.
    pub(super) path_terms: usize,
    /// Runs of one CTA.
    pub(super) fork_runs: usize,
    /// Instructions between two looks at the limits.
    pub(super) check_every: u32,
    /// Instructions between two looks at the limits where memory is limited, of which one instruction can take a
    /// megabyte.
    pub(super) check_memory_every: u32,
    /// Instructions after which a group of lanes lets others run: it may be waiting in a loop for what they will
    /// write. Long loops of computation are interrupted too, which changes nothing.
    pub(super) turn: u32,
    /// Turns in a row in which nobody wrote, arrived or ended, after which nobody is expected to.
    pub(super) idle_turns: u32,
    /// Steps that a trace keeps.
    pub(super) trace_steps: usize,
    /// Most instructions that a warp executes before another may.
    pub(super) random_turn: u64,
    // Order.
    /// Races after which no more are looked for: the verdict stands, and agents that nobody waits for make each
    /// further access dearer.
    pub(super) races: u64,
    /// Pairs that are met for themselves; of more, one stands for many.
    pub(super) race_pairs: u32,
    /// Events of a warp that are kept.
    pub(super) trail_events: usize,
    /// Races of one run whose trails are kept.
    pub(super) trails: usize,
    /// Most releases that are remembered of one word or one thread; more are an order not known.
    pub(super) releases: usize,
    /// Accesses that are kept before those are dropped that all know of.
    pub(super) lifetime_accesses: usize,
    /// Most pairs of lines that an assumption names.
    pub(super) proxy_places: usize,
    /// Reads that are listed, and values that are looked at, before the claim is given up.
    pub(super) value_reads: usize,
    /// Tests of a value that are looked at.
    pub(super) value_tests: usize,
    /// Terms below a value that is looked at.
    pub(super) value_terms: usize,
    /// Words of the clocks of fences that are looked through for one write.
    pub(super) fence_words: u64,
    /// Sums of parts that are looked at.
    pub(super) location_sums: u64,
    /// Turns of each warp that end in loops that only wait, after which nobody is expected to end one.
    pub(super) waiting_turns: usize,
    /// A turn that ends in such a loop is as good as this many that end in one which reads by strong loads and does
    /// more.
    pub(super) waiting_weight: u32,
    /// Instructions of the longest walk through a body.
    pub(super) waiting_walk: usize,
}

/// The bounds of every run.
pub(super) const LIMITS: Bounds = Bounds {
    choices: 32,
    nested_selects: 128,
    nested_sums: 6,
    selects: 1024,
    chosen_bits: 8,
    choice_cone: 256,
    written_depth: 12,
    written_conditions: 96,
    written_comparisons: 10,
    unwritten_parts: 256,
    sign_terms: 256,
    moves: 32,
    mask_bits: 5,
    rounded_values: 8,
    exponent: 1 << 12,
    exact_operations: 256,
    maximum_operands: 256,
    update_conditions: 64,
    missing_terms: 1 << 12,
    open_growth: 4,
    chain: 8,
    patterns: 1 << 12,
    log_lanes: 8,
    memo_first: 1 << 11,
    memo_slots: 1 << 17,
    sides: 32,
    beyond: 1 << 40,
    pinned_bits: 12,
    pinned_cases: 64,
    place_conditions: 4,
    gather_terms: 1 << 12,
    scatter_elements: 1 << 11,
    guarded_examples: 8,
    guarded_accesses: 1 << 18,
    guarded_cases: 1 << 24,
    runaway_row: 1 << 12,
    runaway_accesses: 1 << 20,
    bulk_bytes: 1 << 20,
    dependent_places: 8,
    walk_steps: 1 << 14,
    walk_branches: 1 << 8,
    loop_rounds: 1 << 4,
    walk_work: 1 << 16,
    loop_rounds_of_bits: 1 << 2,
    compared_parts: 16,
    assertion_steps: 256,
    path_conditions: 8,
    path_terms: 1 << 12,
    fork_runs: 16,
    check_every: 1 << 14,
    check_memory_every: 1 << 7,
    turn: 1 << 16,
    idle_turns: 1 << 9,
    trace_steps: 1 << 20,
    random_turn: 48,
    races: 4096,
    race_pairs: 1 << 12,
    trail_events: 64,
    trails: 64,
    releases: 64,
    lifetime_accesses: 1 << 10,
    proxy_places: 8,
    value_reads: 1 << 16,
    value_tests: 1 << 10,
    value_terms: 1 << 12,
    fence_words: 1 << 22,
    location_sums: 1 << 12,
    waiting_turns: 4,
    waiting_weight: 4,
    waiting_walk: 1 << 12,
};

/// Steps that a trace keeps.
pub const MAX_TRACE: usize = LIMITS.trace_steps;
