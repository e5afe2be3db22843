//! What the pass over the code keeps: the objects of memory, everything that an arbitrary thread does, and what is known.

use std::borrow::Cow;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::addresses::Start;
use super::expr::{Exprs, Id, Level, Symbol};
use super::flow::Flow;
use super::gates::{Holds, together};
use super::lanes::Common;
use super::limits::MAX_GRID_THREADS;
use crate::answer::{Assumption, UnknownKind};
use crate::kernel::structured::Blocks;
use crate::kernel::{Kernel, Pc, RegId, Space};
use crate::spec::{Limits, Resolved};
use crate::term::BitsOp;

/// The registers of a thread.
pub(super) type Registers = Rc<Vec<Id>>;

/// What memory consists of: accesses to different objects never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Object {
    /// An array or a module variable, by its number in the bindings.
    Array(u32),
    /// A variable in constant memory, in the same way.
    Constant(u32),
    /// A static shared variable.
    Shared(u32),
    /// All dynamic shared memory.
    Dynamic,
    /// A variable of a thread's own memory.
    Local(u32),
    /// A parameter.
    Param(u32),
}

impl Object {
    pub(super) fn is_shared(self) -> bool {
        self.window() == Some(Space::Shared)
    }

    /// No other thread can write it.
    pub(super) fn is_private(self) -> bool {
        matches!(self.window(), Some(Space::Local | Space::Param))
    }

    /// Its number in the bindings.
    pub(super) fn bound(self) -> Option<u32> {
        match self {
            Object::Array(n) | Object::Constant(n) => Some(n),
            Object::Shared(_) | Object::Dynamic | Object::Local(_) | Object::Param(_) => None,
        }
    }

    /// Addresses of 32 bits reach all of it.
    pub(super) fn is_near(self) -> bool {
        !matches!(self.window(), None | Some(Space::Const))
    }

    /// The state space whose addresses are converted to generic ones; those of arrays are both.
    pub(super) fn window(self) -> Option<Space> {
        match self {
            Object::Array(_) => None,
            Object::Constant(_) => Some(Space::Const),
            Object::Shared(_) | Object::Dynamic => Some(Space::Shared),
            Object::Local(_) => Some(Space::Local),
            Object::Param(_) => Some(Space::Param),
        }
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Reads,
    Writes,
    /// A read-modify-write of so many bits. Others of as many bits are strong towards it and meet it whole or not at all,
    /// since both are aligned: in some order, which is no race.
    Updates(u8),
}

/// An access of an arbitrary thread.
#[derive(Clone, Debug)]
pub(super) struct Accessed {
    /// Its place among all that is recorded.
    pub at: usize,
    pub pc: Pc,
    pub does: Does,
    pub object: u32,
    pub offset: Id,
    pub bytes: u32,
    pub guard: Id,
    /// Loops around it, the outermost first.
    pub loops: Vec<usize>,
    /// What is written.
    pub value: Option<Id>,
    /// Who does it, where the thread only says where.
    pub by: By,
}

/// Who makes an access whose address a thread gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The thread itself, in the order of its instructions.
    Thread,
    /// Some lane of its warp: of a row of a matrix any lane may hold a part.
    Warp,
    /// An agent that may be under way until the thread has waited for it, which it does at this place among all that is
    /// recorded.
    Agent(usize),
}

impl Accessed {
    /// The place at which the access is over.
    pub(super) fn done(&self) -> usize {
        match self.by {
            By::Thread | By::Warp => self.at,
            By::Agent(end) => end,
        }
    }
}

/// A barrier that an arbitrary thread comes to.
#[derive(Clone, Debug)]
pub(super) struct Barrier {
    pub at: usize,
    pub pc: Pc,
    pub guard: Id,
    pub loops: Vec<usize>,
    /// Of the warp alone.
    pub warp: bool,
    /// The lanes that take part, where not all of the warp do.
    pub mask: Option<Id>,
    /// It orders memory; other collectives need all lanes but order nothing.
    pub orders: bool,
}

/// What a thread does about its copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// It waits for every copy.
    All,
    /// It waits for all groups.
    Groups,
    /// It waits for some groups alone.
    Older,
    /// It makes a group of the copies that are in none.
    Commits,
}

/// A place where a thread does something about its copies.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    pub at: usize,
    pub guard: Id,
    pub loops: Vec<usize>,
    pub what: Waits,
}

/// What an atomic that adds a constant gives back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    pub symbol: Id,
    /// The place among all that is recorded of the access that draws it.
    pub at: usize,
    /// What is added.
    pub step: u64,
}

/// A place where a thread ends.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub guard: Id,
    pub loops: Vec<usize>,
}

/// What must hold where a thread comes.
#[derive(Clone, Debug)]
pub(super) struct Duty {
    pub pc: Pc,
    pub guard: Id,
    pub holds: Id,
    pub kind: UnknownKind,
    pub what: Cow<'static, str>,
}

/// Something that is not followed.
#[derive(Clone, Debug)]
pub(super) struct Gap {
    pub kind: UnknownKind,
    pub pc: Pc,
    pub what: String,
}

/// A condition that holds for every thread for which its premise does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub premise: Id,
    pub holds: Id,
}

/// Everything that an arbitrary thread does.
#[derive(Default)]
pub(super) struct Records {
    pub accesses: Vec<Accessed>,
    /// Accesses of a thread's own memory that are known to lie inside of it.
    pub own: Vec<Accessed>,
    pub barriers: Vec<Barrier>,
    pub ends: Vec<Ended>,
    /// Waits for copies.
    pub waits: Vec<Wait>,
    pub duties: Vec<Duty>,
    pub known: Vec<Known>,
    pub gaps: Vec<Gap>,
    /// What is taken for granted.
    pub assumed: Vec<Assumption>,
    pub loops: FxHashMap<usize, Summary>,
    /// Symbols that count: symbol, start, step, how often.
    pub counters: Vec<Counter>,
    /// What atomics give back that add a constant.
    pub tickets: Vec<Ticket>,
    /// What is known of symbols that threads may have in common.
    pub common: FxHashMap<Id, Common>,
    /// Objects by the number of their base.
    pub objects: Vec<Object>,
    pub clock: usize,
}

/// A loop whose body is being read.
pub(super) struct Open {
    pub index: usize,
    /// The condition and registers before its first iteration.
    pub before: (Id, Registers),
    /// Registers that it writes, their symbols at the header, and the object that the symbol is an offset in.
    pub symbols: Vec<(RegId, Id, Option<Start>)>,
    pub count: Id,
    pub back: Vec<(Id, Registers)>,
    pub exits: Vec<(u32, Id, Registers)>,
    pub marks: [usize; 8],
    pub first_symbol: usize,
}

/// The state of the pass.
pub(super) struct Walk<'a> {
    pub e: Exprs,
    pub kernel: &'a Kernel,
    pub resolved: &'a Resolved,
    pub blocks: &'a Blocks,
    pub flow: &'a Flow,
    pub out: Records,
    pub open: Vec<Open>,
    pub incoming: FxHashMap<u32, Vec<(Id, Registers)>>,
    /// Registers of a loop whose symbol has the level of a thread, or is no offset.
    pub raised: FxHashMap<usize, FxHashSet<RegId>>,
    pub scattered: FxHashMap<usize, FxHashSet<RegId>>,
    /// Registers that data choose once an iteration is over, and low bits that are still zero at the header of those that
    /// an iteration gives fewer of than they began with.
    pub chosen: FxHashMap<usize, FxHashSet<RegId>>,
    pub loosened: FxHashMap<usize, FxHashMap<RegId, u8>>,
    /// Registers that an iteration may leave unwritten, and what was asked of others.
    pub lost: FxHashMap<usize, FxHashSet<RegId>>,
    pub needed: FxHashSet<(Pc, Id, Id)>,
    pub sizes: Sizes,
    pub scalars: FxHashMap<(u32, u32), Id>,
    /// Arrays that the launch writes.
    pub written: FxHashSet<u32>,
    /// Bytes of one number of the contents of each object that was read.
    pub units: FxHashMap<u32, u32>,
    pub rounds: usize,
    /// Conditions that hold of every launch, and those of them that gates are given: a product of sizes is for whole
    /// numbers alone.
    pub always: Vec<Id>,
    pub plain: Vec<Id>,
    pub limits: Option<Limits>,
}

/// The words of the launch, by component.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub tid: [Id; 3],
    pub ntid: [Id; 3],
    pub ctaid: [Id; 3],
    pub nctaid: [Id; 3],
}

impl Sizes {
    /// The symbols of the launch; a component that is fixed is a constant.
    pub(super) fn new(
        e: &mut Exprs,
        block: [Option<u32>; 3],
        grid: [Option<u32>; 3],
        most: u64,
    ) -> Sizes {
        let z = [1024, 1024, 64];
        let g = [0x7fff_ffff, 0xffff, 0xffff];
        // What is fixed leaves less for the rest.
        let room = |all: u64, fixed: &[Option<u32>]| {
            let taken = fixed.iter().flatten().map(|&v| u64::from(v.max(1)));
            all / taken.fold(1u64, u64::saturating_mul).min(all.max(1))
        };
        let (threads, ctas) = (
            room(most, &block),
            room(MAX_GRID_THREADS, &[block, grid].concat()),
        );
        let mut size = |fixed: Option<u32>, hi: u64| match fixed {
            Some(v) => e.constant(u64::from(v), 32),
            None => e.symbol(Symbol {
                width: 32,
                level: Level::Grid,
                of: None,
                range: (1, hi.max(1)),
                zeros: 0,
                data: false,
            }),
        };
        let ntid = [0, 1, 2].map(|i| size(block[i], threads.min(z[i])));
        let nctaid = [0, 1, 2].map(|i| size(grid[i], ctas.min(g[i])));
        let mut index = |fixed: Option<u32>, hi: u64, level| match fixed {
            Some(1) => e.constant(0, 32),
            fixed => e.symbol(Symbol {
                width: 32,
                level,
                of: None,
                range: (0, fixed.map_or(hi, u64::from) - 1),
                zeros: 0,
                data: false,
            }),
        };
        let tid = [0, 1, 2].map(|i| index(block[i], threads.min(z[i]).max(1), Level::Thread));
        let ctaid = [0, 1, 2].map(|i| index(grid[i], ctas.min(g[i]).max(1), Level::Cta));
        Sizes {
            tid,
            ntid,
            ctaid,
            nctaid,
        }
    }

    /// The rank of the thread in its CTA.
    pub(super) fn rank(&self, e: &mut Exprs) -> Id {
        let plane = e.word(BitsOp::Mul, self.tid[2], self.ntid[1]);
        let rows = e.add(plane, self.tid[1]);
        let before = e.word(BitsOp::Mul, rows, self.ntid[0]);
        e.add(before, self.tid[0])
    }
}

/// A symbol that counts: `start + count * step` modulo its width, the step the same in all iterations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    pub symbol: Id,
    pub start: Id,
    pub step: Id,
    pub count: Id,
    pub of: usize,
    /// The condition of going on, and the value that the next iteration then begins with.
    pub goes_on: Id,
    pub next: Id,
    /// Whether this is its value in the last iteration.
    pub last: bool,
}

/// A loop that was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    /// The condition of coming to it.
    pub before: Option<Id>,
    /// Its header's symbols, with what they are in the first and in the next iteration.
    pub first: FxHashMap<Id, Id>,
    pub next: FxHashMap<Id, Id>,
    /// Symbols that have a value in each iteration, headers' and others.
    pub born: Vec<u32>,
    /// The condition of going on, relative to coming to the loop.
    pub goes_on: Option<Id>,
    /// All threads that are in it go through the same number of iterations.
    pub uniform: bool,
    /// A register grows with each iteration that another one follows, or shrinks, so that the loop ends.
    pub ends: bool,
}

impl Summary {
    /// All words that a loop is known by.
    pub(super) fn words(&mut self) -> impl Iterator<Item = &mut Id> {
        let values = self.first.values_mut().chain(self.next.values_mut());
        values.chain(&mut self.goes_on).chain(&mut self.before)
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        kernel: &'a Kernel,
        resolved: &'a Resolved,
        blocks: &'a Blocks,
        flow: &'a Flow,
        (block, grid, most): ([Option<u32>; 3], [Option<u32>; 3], u64),
    ) -> Walk<'a> {
        let mut e = Exprs::new();
        let sizes = Sizes::new(&mut e, block, grid, most);
        Walk {
            e,
            kernel,
            resolved,
            blocks,
            flow,
            out: Records::default(),
            open: Vec::new(),
            incoming: FxHashMap::default(),
            raised: FxHashMap::default(),
            scattered: FxHashMap::default(),
            chosen: FxHashMap::default(),
            loosened: FxHashMap::default(),
            lost: FxHashMap::default(),
            needed: FxHashSet::default(),
            sizes,
            scalars: FxHashMap::default(),
            written: FxHashSet::default(),
            units: FxHashMap::default(),
            rounds: 0,
            always: Vec::new(),
            plain: Vec::new(),
            limits: None,
        }
    }

    /// Arrays that a store or an atomic of the pass before led to are written; what leads nowhere known may write all.
    pub(super) fn with_written(mut self, written: FxHashSet<u32>) -> Walk<'a> {
        self.written = written;
        self
    }

    /// The arrays that were written, by their object.
    pub(super) fn writes(&self) -> FxHashSet<u32> {
        let writes = self.out.accesses.iter().filter(|a| a.does != Does::Reads);
        writes.map(|a| a.object).collect()
    }

    pub(super) fn gap(&mut self, kind: UnknownKind, pc: Pc, what: impl Into<String>) {
        let what = what.into();
        if !self.out.gaps.iter().any(|g| g.pc == pc && g.what == what) {
            self.out.gaps.push(Gap { kind, pc, what });
        }
    }

    pub(super) fn tick(&mut self) -> usize {
        self.out.clock += 1;
        self.out.clock
    }

    /// Loops that are being read, the outermost first.
    pub(super) fn around(&self) -> Vec<usize> {
        self.open.iter().map(|o| o.index).collect()
    }

    /// Whether a condition follows from another one and what holds of every launch.
    pub(super) fn is_implied(&mut self, given: Id, goal: Id) -> bool {
        self.is_implied_with(given, goal, given)
    }

    /// The same with what is known under another premise, which is part of the condition.
    pub(super) fn is_implied_with(&mut self, given: Id, goal: Id, premise: Id) -> bool {
        let Some(limits) = self.limits else {
            return false;
        };
        let not = self.e.not(goal);
        let mut all = vec![given, not];
        all.extend(&self.plain);
        let given = self.e.literals(premise);
        for k in &self.out.known {
            if self.e.literals(k.premise).iter().all(|c| given.contains(c)) {
                all.push(k.holds);
            }
        }
        matches!(together(&self.e, &all, false, &limits), Holds::Never)
    }

    /// The node of a symbol.
    pub(super) fn symbol_id(&mut self, s: u32) -> Id {
        self.e.symbol_node(s)
    }

    /// The loops inside of one.
    pub(super) fn inner(&self, l: usize) -> Vec<usize> {
        let it = &self.flow.loops[l];
        let inside = |i: &usize| {
            *i != l && self.flow.loops[*i].first >= it.first && self.flow.loops[*i].end <= it.end
        };
        (0..self.flow.loops.len()).filter(inside).collect()
    }
}
