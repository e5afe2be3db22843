use proptest::prelude::*;

use super::*;

/// The tree as text with all parentheses.
fn tree(f: &Formula, e: ExprId) -> String {
    let t = |e: &ExprId| tree(f, *e);
    let all = |list: &[ExprId]| Vec::from_iter(list.iter().map(t)).join(" ");
    match f.expr(e) {
        Expr::Number { value, .. } => value.to_string(),
        Expr::Infinity => "inf".into(),
        Expr::Pi => "pi".into(),
        Expr::Name(n) => n.clone(),
        Expr::Read { name, indices } => format!("{}[{}]", name.text, all(indices)),
        Expr::Neg(a) => format!("(neg {})", t(a)),
        Expr::Sum(list) => {
            let terms = list
                .iter()
                .map(|(m, e)| format!("{}{}", if *m { "-" } else { "+" }, t(e)));
            format!("({})", Vec::from_iter(terms).join(" "))
        }
        Expr::Product(list) => {
            let op = |op| match op {
                MulOp::Times => "*",
                MulOp::Over => "/",
                MulOp::Rem => "%",
            };
            let factors = list.iter().map(|(o, e)| format!("{}{}", op(*o), t(e)));
            format!("({})", Vec::from_iter(factors).join(" "))
        }
        Expr::Power(a, n) => format!("(pow {} {n})", t(a)),
        Expr::Call(g, args) => format!("({} {})", named(&Func::ALL, *g), all(args)),
        Expr::Reduce {
            fold,
            vars,
            cond,
            body,
        } => {
            let vars = vars.iter().map(|v| match v.range {
                Some((a, b)) => format!("{} {}..{}", v.name.text, t(&a), t(&b)),
                None => v.name.text.clone(),
            });
            let cond = cond.map_or(String::new(), |c| format!(" if {}", t(&c)));
            let vars = Vec::from_iter(vars).join(", ");
            format!("({} {vars}{cond}: {})", named(&Fold::ALL, *fold), t(body))
        }
        Expr::If(c, a, b) => format!("(if {} {} {})", t(c), t(a), t(b)),
        Expr::Compare(list, signs) => format!("(cmp {} {signs:?})", all(list)),
        Expr::IsNan(a) => format!("(isnan {})", t(a)),
        Expr::Not(a) => format!("(not {})", t(a)),
        Expr::And(list) => format!("(and {})", all(list)),
        Expr::Or(list) => format!("(or {})", all(list)),
    }
}

fn value(text: &str) -> String {
    match parse(&format!("y[i] = {text}")) {
        Ok(f) => tree(&f, f.defs[0].output.value),
        Err(e) => format!("error: {}", e[0]),
    }
}

#[test]
fn precedence() {
    let cases = [
        ("-x^2", "(neg (pow x 2))"),
        ("2*-x", "(*2 *(neg x))"),
        ("-x*y", "(*(neg x) *y)"),
        ("x^-2^3", "(pow (pow x -2) 3)"),
        ("a - b + c", "(+a -b +c)"),
        ("a / b * c", "(*a /b *c)"),
        ("a + b*c^2", "(+a +(*b *(pow c 2)))"),
        (
            "a + if i < 2 then b else c + d",
            "(+a +(if (cmp i 2 [Lt]) b (+c +d)))",
        ),
        ("sum(k: a[i,k]*b[k])", "(sum k: (*a[i k] *b[k]))"),
        (
            "max(k in 0..n, l if k != l: x[k])",
            "(max k 0..n, l if (cmp k l [Ne]): x[k])",
        ),
        ("max(a, max(k: b[k]))", "(max a (max k: b[k]))"),
        (
            "if not 0 <= i+k < n and (a == b or i > 1) then 1 else 1e-1",
            "(if (and (not (cmp 0 (+i +k) n [Le, Lt])) (or (cmp a b [Eq]) (cmp i 1 [Gt]))) 1 1/10)",
        ),
        ("`sum`[i] + `a b`", "(+sum[i] +a b)"),
        ("(a - 0.25)", "(+a -1/4)"),
        ("min(j if x[j] = m : j)", "(min j if (cmp x[j] m [Eq]): j)"),
        (
            "if isnan(x) or not isnan(rint(y)) then ceil(x) else trunc(y)",
            "(if (or (isnan x) (not (isnan (rint y)))) (ceil x) (trunc y))",
        ),
    ];
    for (text, want) in cases {
        assert_eq!(value(text), want, "{text}");
    }
}

#[test]
fn errors_name_what_is_missing() {
    let cases = [
        ("a +", "expected a number, a name or `(`, found the end"),
        ("sum(k a[k])", "expected `:`, found `a`"),
        ("sum(a[i])", "expected `:`, found `[`"),
        ("expp(x)", "`expp` is no function"),
        ("exp(x, y)", "`exp` takes one argument, not 2"),
        ("a < b", "a condition stands where a number belongs"),
        ("isnan(x)", "a condition stands where a number belongs"),
        ("if isnan(x, y) then 1 else 2", "expected `)`, found `,`"),
        (
            "if a then b else c",
            "a number stands where a condition belongs",
        ),
        ("x^y", "expected an integer after `^`, found `y`"),
        ("x^999", "the number `999` is out of range"),
        ("1e99999", "its exponent is too large"),
        (
            "a b",
            "expected an operator, `where`, `;` or the end, found `b`",
        ),
        ("where", "expected a number, a name or `(`, found `where`"),
    ];
    for (text, want) in cases {
        let got = value(text);
        assert!(got.contains(want), "{text}: {got}");
    }
}

#[test]
fn a_left_side_says_where_it_holds() {
    let parsed = parse("y[i,j if i < 3 and j != 2] = 1; z[i] = 2").expect("valid");
    let cond = |d: usize| parsed.defs[d].output.head.cond.map(|c| tree(&parsed, c));
    let both = "(and (cmp i 3 [Lt]) (cmp j 2 [Ne]))";
    assert_eq!((cond(0).as_deref(), cond(1)), (Some(both), None));
    for (text, want) in [
        ("y[i if i] = 1", "a number stands where a condition belongs"),
        ("y[i if] = 1", "expected a number, a name or `(`, found `]`"),
        (
            "y[if i < 3, i] = 1",
            "expected the name of an index, found `if`",
        ),
    ] {
        let got = parse(text).expect_err("broken")[0].to_string();
        assert!(got.contains(want), "{text}: {got}");
    }
}

#[test]
fn several_errors_at_once() {
    let text = "y[i] = a + ; z[i,i] = 2 where w[] 3; v[] = 1 ?";
    let errors = parse(text).expect_err("broken");
    assert_eq!(errors.len(), 4, "{errors:?}");
    let starts: Vec<u32> = errors.iter().map(|e| e.span.start).collect();
    assert_eq!(starts, [11, 17, 34, 45]);
    assert!(
        parse("# nothing\n;").expect_err("empty")[0]
            .to_string()
            .contains("nothing")
    );
    assert_eq!(
        parse("y[] = 1; # done\n z[] = 2;")
            .expect("valid")
            .defs
            .len(),
        2
    );
}

#[test]
fn nesting_is_bounded() {
    for (open, close) in [
        ("(", ")"),
        ("-", ""),
        ("exp(", ")"),
        ("a[", "]"),
        ("sum(k:", ")"),
    ] {
        let deep = format!("y[] = {}1{}", open.repeat(5000), close.repeat(5000));
        let errors = parse(&deep).expect_err("too deep");
        assert!(matches!(*errors[0].problem, Problem::TooDeep), "{open}");
    }
    let powers = format!("y[] = x{}", "^2".repeat(5000));
    assert!(matches!(
        *parse(&powers).expect_err("too deep")[0].problem,
        Problem::TooDeep
    ));
    // A long chain nests nowhere.
    let chain = format!("y[] = 1{}", "+2*3-4".repeat(5000));
    assert!(parse(&chain).is_ok());
}

/// Pieces of formulas in any order.
fn pieces() -> impl Strategy<Value = String> {
    let words = [
        "y", "[", "]", "=", "i", ",", "sum", "max", "(", ")", ":", "k", "in", "..", "if", "then",
        "else", "not", "and", "or", "where", ";", "+", "-", "*", "/", "%", "^", "2", "1.5e3",
        "inf", "pi", "exp", "<", "<=", "!=", "`q`", "#", "\n", "é", "`",
    ];
    let word = proptest::sample::select(words.to_vec());
    proptest::collection::vec(word, 0..60).prop_map(|w| w.join(" "))
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_order_of_pieces_panics(text in pieces(), head in any::<bool>()) {
        let text = if head { format!("y[i] = {text}") } else { text };
        if let Err(errors) = parse(&text) {
            let source = crate::diag::Source::new("f", text.as_str()).expect("short");
            for e in &errors {
                let d = crate::diag::Diagnostic::from(e);
                prop_assert!(!d.render(&source, false).is_empty());
            }
        }
    }
}
