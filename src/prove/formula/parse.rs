//! Text to [`Formula`]: precedence climbing over the tokens.
//!
//! Source: the grammar of the section "Formulas" of the command-line contract. From loose to tight: `or`, `and`,
//! `not`, comparisons (in chains), `+ -`, `* / %`, unary `-`, `^`; `if` reaches as far right as it can, and
//! a reduction is told from a function by its `:`. After an error the parser goes on behind the next `;` or
//! `where`, so that one run reports every broken definition. Recursion is bounded by [`MAX_DEPTH`].

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::One;

use super::ast::{
    Bound, Cmp, Def, Equation, Expr, ExprId, Fold, Formula, Func, Head, MAX_DEPTH, MulOp, Name,
    Node, named,
};
use super::error::{Problem, Trouble};
use super::lex::{Token, lex};
use crate::diag::{Span, nearest};

/// Most bytes of a text, and most definitions of it with those of intermediate arrays.
const MAX_BYTES: usize = 1 << 20;
const MAX_EQUATIONS: usize = 256;
/// Most indices of one reduction, or of the left side of an equation.
const MAX_VARIABLES: usize = 16;
/// Most digits, and the largest exponent, of a number.
const MAX_DIGITS: usize = 1024;
const MAX_EXPONENT: i64 = 1024;
/// The largest power.
const MAX_POWER: i64 = 256;

/// Words that are no names without backquotes, wherever they stand.
const KEYWORDS: [&str; 10] = [
    "where", "if", "then", "else", "in", "inf", "pi", "not", "and", "or",
];

/// The condition that a number is none.
const IS_NAN: &str = "isnan";

const COMPARISONS: [(&str, Cmp); 7] = [
    ("=", Cmp::Eq),
    ("==", Cmp::Eq),
    ("!=", Cmp::Ne),
    ("<", Cmp::Lt),
    ("<=", Cmp::Le),
    (">", Cmp::Gt),
    (">=", Cmp::Ge),
];

const FACTORS: [(&str, MulOp); 3] = [("*", MulOp::Times), ("/", MulOp::Over), ("%", MulOp::Rem)];

/// True for a word that has to stand in backquotes to be a name.
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// The definitions that a text holds, or everything that is wrong with it.
pub fn parse(text: &str) -> Result<Formula, Vec<Trouble>> {
    let whole = Span::new(0, text.len().min(u32::MAX as usize) as u32);
    if text.len() > MAX_BYTES {
        let problem = too_long("bytes", text.len(), MAX_BYTES);
        return Err(vec![Trouble::new(problem, Span::new(0, 0))]);
    }
    let (tokens, troubles) = lex(text);
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
        out: Formula::default(),
        troubles,
    };
    parser.definitions();
    if parser.out.defs.is_empty() && parser.troubles.is_empty() {
        let trouble = Trouble::new(Problem::Empty, whole);
        parser.troubles.push(trouble);
    }
    let defs = parser.out.defs.iter();
    let equations: usize = defs.map(|d| 1 + d.helpers.len()).sum();
    if equations > MAX_EQUATIONS {
        let problem = too_long("equations", equations, MAX_EQUATIONS);
        parser.troubles.push(Trouble::new(problem, whole));
    }
    match parser.troubles.is_empty() {
        true => Ok(parser.out),
        false => {
            parser.troubles.sort_by_key(|t| t.span);
            Err(parser.troubles)
        }
    }
}

fn too_long(what: &'static str, count: usize, most: usize) -> Problem {
    Problem::TooLong { what, count, most }
}

struct Parser<'t> {
    /// The tokens, `End` last.
    tokens: Vec<(Token<'t>, Span)>,
    at: usize,
    depth: u32,
    out: Formula,
    troubles: Vec<Trouble>,
}

type Parsed<T> = Result<T, Trouble>;

impl<'t> Parser<'t> {
    fn peek(&self) -> Token<'t> {
        self.tokens[self.at].0
    }

    fn second(&self) -> Token<'t> {
        let next = self.at + 1;
        self.tokens.get(next).map_or(Token::End, |t| t.0)
    }

    fn span(&self) -> Span {
        self.tokens[self.at].1
    }

    /// The place of the token before.
    fn last(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].1
    }

    fn next(&mut self) -> Token<'t> {
        let token = self.peek();
        if token != Token::End {
            self.at += 1;
        }
        token
    }

    fn eat(&mut self, token: Token) -> bool {
        let found = self.peek() == token;
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, token: Token<'static>) -> Parsed<()> {
        match self.eat(token) {
            true => Ok(()),
            false => Err(self.expected(&show(token))),
        }
    }

    fn expected(&self, wanted: &str) -> Trouble {
        let problem = Problem::Expected {
            wanted: wanted.to_string(),
            found: show(self.peek()),
        };
        Trouble::new(problem, self.span())
    }

    fn node(&mut self, expr: Expr, span: Span) -> Parsed<ExprId> {
        let mut depth = 0;
        let nodes = &self.out.nodes;
        expr.children(&mut |c| depth = depth.max(nodes[c.0 as usize].depth));
        if depth >= MAX_DEPTH {
            return Err(Trouble::new(Problem::TooDeep, span));
        }
        let id = ExprId(self.out.nodes.len() as u32);
        let depth = depth + 1;
        self.out.nodes.push(Node { expr, span, depth });
        Ok(id)
    }

    fn definitions(&mut self) {
        loop {
            while self.eat(Token::Sign(";")) {}
            if self.peek() == Token::End {
                return;
            }
            let mut helpers = Vec::new();
            let output = self.equation();
            while self.eat(Token::Word("where")) {
                helpers.extend(self.equation());
            }
            if let Some(output) = output {
                self.out.defs.push(Def { output, helpers });
            }
        }
    }

    /// One equation and what ends it; after an error nothing, behind what ends it.
    fn equation(&mut self) -> Option<Equation> {
        let ends = [Token::Sign(";"), Token::Word("where"), Token::End];
        let wanted = "an operator, `where`, `;` or the end";
        let read = self.one_equation();
        let read = match read {
            Ok(_) if !ends.contains(&self.peek()) => Err(self.expected(wanted)),
            other => other,
        };
        self.depth = 0;
        read.map_err(|trouble| {
            self.troubles.push(trouble);
            while !ends.contains(&self.peek()) {
                self.next();
            }
        })
        .ok()
    }

    fn one_equation(&mut self) -> Parsed<Equation> {
        let name = self.name("the name of an array")?;
        self.expect(Token::Sign("["))?;
        let mut indices: Vec<Name> = Vec::new();
        while self.peek() != Token::Sign("]") {
            let index = self.name("the name of an index")?;
            if let Some(first) = indices.iter().find(|n| n.text == index.text) {
                let problem = doubled(&index, "an index");
                return Err(Trouble::new(problem, index.span).beside(first.span, "first here"));
            }
            indices.push(index);
            if indices.len() > MAX_VARIABLES {
                let problem = too_long("indices", indices.len(), MAX_VARIABLES);
                return Err(Trouble::new(problem, name.span));
            }
            if !self.eat(Token::Sign(",")) {
                break;
            }
        }
        let cond = match self.eat(Token::Word("if")) {
            true => Some(self.condition()?),
            false => None,
        };
        self.expect(Token::Sign("]"))?;
        self.expect(Token::Sign("="))?;
        let value = self.any()?;
        let value = self.sorted(value, false)?;
        let head = Head {
            name,
            indices,
            cond,
        };
        Ok(Equation { head, value })
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        let span = self.span();
        let text = match self.peek() {
            Token::Quoted(text) => text,
            Token::Word(text) if !is_keyword(text) => text,
            _ => return Err(self.expected(what)),
        };
        self.next();
        let text = text.to_string();
        Ok(Name { text, span })
    }

    /// A number, not a condition.
    fn value(&mut self) -> Parsed<ExprId> {
        let e = self.sum()?;
        self.sorted(e, false)
    }

    fn condition(&mut self) -> Parsed<ExprId> {
        let e = self.any()?;
        self.sorted(e, true)
    }

    /// The expression if it is of the sort that belongs there.
    fn sorted(&self, e: ExprId, condition: bool) -> Parsed<ExprId> {
        let names = ["a number", "a condition"];
        match self.out.expr(e).is_condition() {
            is if is == condition => Ok(e),
            is => {
                let problem = Problem::Sort {
                    found: names[usize::from(is)],
                    wanted: names[usize::from(condition)],
                };
                Err(Trouble::new(problem, self.out.span(e)))
            }
        }
    }

    /// A number or a condition.
    fn any(&mut self) -> Parsed<ExprId> {
        self.joined("or", Expr::Or, |p| {
            p.joined("and", Expr::And, Self::negation)
        })
    }

    /// Conditions with one word between them.
    fn joined(
        &mut self,
        word: &'static str,
        make: fn(Vec<ExprId>) -> Expr,
        operand: fn(&mut Self) -> Parsed<ExprId>,
    ) -> Parsed<ExprId> {
        let first = operand(self)?;
        if self.peek() != Token::Word(word) {
            return Ok(first);
        }
        let mut all = vec![self.sorted(first, true)?];
        while self.eat(Token::Word(word)) {
            let e = operand(self)?;
            all.push(self.sorted(e, true)?);
        }
        let span = self.out.span(first).to(self.last());
        self.node(make(all), span)
    }

    fn negation(&mut self) -> Parsed<ExprId> {
        let start = self.span();
        if !self.eat(Token::Word("not")) {
            return self.comparison();
        }
        self.enter(start)?;
        let e = self.negation()?;
        self.depth -= 1;
        let e = self.sorted(e, true)?;
        self.node(Expr::Not(e), start.to(self.last()))
    }

    fn comparison(&mut self) -> Parsed<ExprId> {
        let first = self.sum()?;
        let (mut operands, mut signs) = (vec![first], Vec::new());
        while let Some(sign) = sign(&COMPARISONS, self.peek()) {
            self.next();
            signs.push(sign);
            let e = self.sum()?;
            operands.push(self.sorted(e, false)?);
        }
        if signs.is_empty() {
            return Ok(first);
        }
        self.sorted(first, false)?;
        let span = self.out.span(first).to(self.last());
        self.node(Expr::Compare(operands, signs), span)
    }

    fn sum(&mut self) -> Parsed<ExprId> {
        let first = self.product()?;
        let mut terms = vec![(false, first)];
        loop {
            let minus = match self.peek() {
                Token::Sign("+") => false,
                Token::Sign("-") => true,
                _ => break,
            };
            self.next();
            let e = self.product()?;
            terms.push((minus, self.sorted(e, false)?));
        }
        if terms.len() == 1 {
            return Ok(first);
        }
        self.sorted(first, false)?;
        let span = self.out.span(first).to(self.last());
        self.node(Expr::Sum(terms), span)
    }

    fn product(&mut self) -> Parsed<ExprId> {
        let first = self.unary()?;
        let mut factors = vec![(MulOp::Times, first)];
        while let Some(op) = sign(&FACTORS, self.peek()) {
            self.next();
            let e = self.unary()?;
            factors.push((op, self.sorted(e, false)?));
        }
        if factors.len() == 1 {
            return Ok(first);
        }
        self.sorted(first, false)?;
        let span = self.out.span(first).to(self.last());
        self.node(Expr::Product(factors), span)
    }

    fn enter(&mut self, at: Span) -> Parsed<()> {
        self.depth += 1;
        match self.depth > MAX_DEPTH {
            true => Err(Trouble::new(Problem::TooDeep, at)),
            false => Ok(()),
        }
    }

    /// A power, or a minus sign before one.
    fn unary(&mut self) -> Parsed<ExprId> {
        let start = self.span();
        self.enter(start)?;
        let e = if self.eat(Token::Sign("-")) {
            let e = self.unary()?;
            let e = self.sorted(e, false)?;
            self.node(Expr::Neg(e), start.to(self.last()))?
        } else {
            self.power()?
        };
        self.depth -= 1;
        Ok(e)
    }

    fn power(&mut self) -> Parsed<ExprId> {
        let mut e = self.atom()?;
        while self.eat(Token::Sign("^")) {
            let minus = self.eat(Token::Sign("-"));
            let span = self.span();
            let Token::Number(text) = self.peek() else {
                return Err(self.expected("an integer after `^`"));
            };
            self.next();
            let n: i64 = match text.parse() {
                Ok(n) if n <= MAX_POWER => n,
                _ => {
                    let why = "a power is an integer from -256 to 256";
                    return Err(bad_number(text, why, span));
                }
            };
            let n = if minus { -n } else { n } as i32;
            let e2 = self.sorted(e, false)?;
            let whole = self.out.span(e).to(span);
            e = self.node(Expr::Power(e2, n), whole)?;
        }
        Ok(e)
    }

    fn atom(&mut self) -> Parsed<ExprId> {
        let start = self.span();
        match self.peek() {
            Token::Sign("(") => {
                self.next();
                let e = self.any()?;
                self.expect(Token::Sign(")"))?;
                Ok(e)
            }
            Token::Number(text) => {
                self.next();
                let (value, integer) = number(text).map_err(|why| bad_number(text, why, start))?;
                self.node(Expr::Number { value, integer }, start)
            }
            Token::Word("inf") => {
                self.next();
                self.node(Expr::Infinity, start)
            }
            Token::Word("pi") => {
                self.next();
                self.node(Expr::Pi, start)
            }
            Token::Word("if") => self.choice(),
            Token::Word(word) if self.second() == Token::Sign("(") => self.application(word),
            _ => {
                let name = self.name("a number, a name or `(`")?;
                if self.peek() != Token::Sign("[") {
                    return self.node(Expr::Name(name.text), start);
                }
                self.next();
                let indices = self.list(Token::Sign("]"))?;
                let span = start.to(self.last());
                self.node(Expr::Read { name, indices }, span)
            }
        }
    }

    /// Numbers between commas and what ends them.
    fn list(&mut self, end: Token<'static>) -> Parsed<Vec<ExprId>> {
        let mut out = Vec::new();
        while self.peek() != end {
            out.push(self.value()?);
            if !self.eat(Token::Sign(",")) {
                break;
            }
        }
        self.expect(end)?;
        Ok(out)
    }

    fn choice(&mut self) -> Parsed<ExprId> {
        let start = self.span();
        self.next();
        let cond = self.condition()?;
        self.expect(Token::Word("then"))?;
        let yes = self.value()?;
        self.expect(Token::Word("else"))?;
        let no = self.value()?;
        self.node(Expr::If(cond, yes, no), start.to(self.last()))
    }

    /// True if a `:` stands between the parentheses that follow, and in none inside of them.
    fn is_reduction(&self) -> bool {
        let mut open = 0u32;
        for (token, _) in &self.tokens[self.at + 1..] {
            match token {
                Token::Sign("(" | "[") => open += 1,
                Token::Sign(")" | "]") if open <= 1 => return false,
                Token::Sign(")" | "]") => open -= 1,
                Token::Sign(":") if open == 1 => return true,
                Token::Sign(";") | Token::End => return false,
                _ => {}
            }
        }
        false
    }

    /// A function or a reduction.
    fn application(&mut self, word: &'t str) -> Parsed<ExprId> {
        let start = self.span();
        let reduction = Fold::ALL.iter().find(|f| f.1 == word);
        let function = Func::ALL.iter().find(|f| f.1 == word);
        if word == IS_NAN {
            return self.is_nan();
        }
        match (reduction, function) {
            (Some(&(fold, _)), _) if function.is_none() || self.is_reduction() => {
                self.reduction(fold)
            }
            (_, Some(&(func, name))) => {
                self.next();
                self.next();
                let args = self.list(Token::Sign(")"))?;
                let span = start.to(self.last());
                let many = matches!(func, Func::Max | Func::Min);
                if args.len() != 1 && !many || args.is_empty() {
                    let problem = Problem::Arguments {
                        name,
                        wanted: if many {
                            "one or more arguments"
                        } else {
                            "one argument"
                        },
                        count: args.len(),
                    };
                    return Err(Trouble::new(problem, span));
                }
                self.node(Expr::Call(func, args), span)
            }
            _ => {
                let known = Func::ALL.iter().map(|f| f.1);
                let known = known.chain(Fold::ALL.iter().map(|f| f.1));
                let known = known.chain([IS_NAN]);
                let meant = nearest(word, known.clone());
                let problem = Problem::Unknown {
                    name: word.to_string(),
                    what: "function",
                    known: Vec::from_iter(known.map(str::to_string)),
                };
                Err(Trouble::new(problem, start).meant(meant))
            }
        }
    }

    fn is_nan(&mut self) -> Parsed<ExprId> {
        let start = self.span();
        self.next();
        self.next();
        let x = self.value()?;
        self.expect(Token::Sign(")"))?;
        self.node(Expr::IsNan(x), start.to(self.last()))
    }

    fn reduction(&mut self, fold: Fold) -> Parsed<ExprId> {
        let start = self.span();
        self.next();
        self.expect(Token::Sign("("))?;
        let mut vars: Vec<Bound> = Vec::new();
        loop {
            let what = format!(
                "an index of the {}, as in `{0}(k: a[k])`",
                named(&Fold::ALL, fold)
            );
            let name = self.name(&what)?;
            if let Some(first) = vars.iter().find(|v| v.name.text == name.text) {
                let problem = doubled(&name, "an index");
                let first = first.name.span;
                return Err(Trouble::new(problem, name.span).beside(first, "first here"));
            }
            let range = match self.eat(Token::Word("in")) {
                true => {
                    let lo = self.value()?;
                    self.expect(Token::Sign(".."))?;
                    Some((lo, self.value()?))
                }
                false => None,
            };
            vars.push(Bound { name, range });
            if vars.len() > MAX_VARIABLES {
                let problem = too_long("indices", vars.len(), MAX_VARIABLES);
                return Err(Trouble::new(problem, start));
            }
            if !self.eat(Token::Sign(",")) {
                break;
            }
        }
        let cond = match self.eat(Token::Word("if")) {
            true => Some(self.condition()?),
            false => None,
        };
        self.expect(Token::Sign(":"))?;
        let body = self.value()?;
        self.expect(Token::Sign(")"))?;
        let expr = Expr::Reduce {
            fold,
            vars,
            cond,
            body,
        };
        self.node(expr, start.to(self.last()))
    }
}

fn doubled(name: &Name, what: &'static str) -> Problem {
    Problem::Doubled {
        name: name.text.clone(),
        what,
    }
}

fn bad_number(text: &str, why: &'static str, span: Span) -> Trouble {
    let text: String = text.chars().take(40).collect();
    Trouble::new(Problem::BadNumber { text, why }, span)
}

/// What a sign means, if it is one of a table.
fn sign<T: Copy>(table: &[(&str, T)], token: Token) -> Option<T> {
    let Token::Sign(text) = token else {
        return None;
    };
    table.iter().find(|s| s.0 == text).map(|s| s.1)
}

fn show(token: Token) -> String {
    match token {
        Token::Word(text) | Token::Number(text) => format!("`{}`", crate::diag::visible(text)),
        Token::Quoted(text) => format!("the name `{}`", crate::diag::visible(text)),
        Token::Sign(text) => format!("`{text}`"),
        Token::End => "the end".to_string(),
    }
}

/// The value of a number, and whether it was written as an integer.
fn number(text: &str) -> Result<(BigRational, bool), &'static str> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((m, e)) => (m, e.parse().unwrap_or(i64::MAX)),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() + fraction.len() > MAX_DIGITS {
        return Err("it has too many digits");
    }
    if exponent.checked_abs().is_none_or(|e| e > MAX_EXPONENT) {
        return Err("its exponent is too large");
    }
    let digits: BigInt = format!("0{whole}{fraction}").parse().unwrap_or_default();
    let shift = exponent - fraction.len() as i64;
    let power = BigInt::from(10).pow(shift.unsigned_abs() as u32);
    let value = match shift >= 0 {
        true => BigRational::from_integer(digits * power),
        false => BigRational::new(digits, power.max(BigInt::one())),
    };
    let integer = text.bytes().all(|b| b.is_ascii_digit());
    Ok((value, integer))
}

#[cfg(test)]
mod tests;
