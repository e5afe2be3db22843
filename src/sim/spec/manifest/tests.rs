use super::*;

const TEXT: &str = r#"
        [defaults]
        threads = 128
        args = { "0" = "in:f32[4]" }
        [[check]]
        name = "a"
        reference = { file = "x/r.ptx", entry = "r" }
        optimized = { file = "o.ptx", block = [4, 1, 1], args = { "2" = 4 } }
        threads = 4
        args = { "1" = "out:f32[4]", "3" = 0.5 }
        [[race]]
        kernel = "k.ptx"
        expect = "defective"
        defects = ["data-race"]
    "#;

#[test]
fn layers_and_sides() {
    let m = Manifest::parse(TEXT, Path::new("base")).expect("valid");
    let [below, own] = &m.check[0].instances[0];
    let layers = [below, own];
    let layers = Layers(&layers);
    let r = layers.kernel(Which::Reference).expect("valid");
    let o = layers.kernel(Which::Optimized).expect("valid");
    assert_eq!(r.file, Path::new("base/x/r.ptx"));
    assert_eq!(r.launch.block, Some([4, 1, 1]));
    assert_eq!(r.args.len(), 3);
    assert_eq!(o.args.len(), 4);
    assert_eq!(o.args[3].text, "2=4");
    assert!(o.args[3].own);
    assert_eq!(m.race[0].head().defects, ["data-race"]);
}

#[test]
fn unknown_keys_have_a_place() {
    let e = Manifest::parse("[[check]]\nthread = 4\n", Path::new("")).expect_err("unknown");
    assert!(e.message.contains("thread"), "{}", e.message);
    assert_eq!(e.span.map(|s| s.start), Some(10));
    let text = "[[race]]\nkernel = { file = \"a\", blok = 3 }\n";
    let e = Manifest::parse(text, Path::new("")).expect_err("unknown");
    assert!(e.message.contains("blok"), "{}", e.message);
    assert!(e.span.is_some());
}

#[test]
fn entries_have_an_instance_for_each_size() {
    let text = r#"
            [defaults]
            for = { n = "1..3" }
            threads = "{n}"
            timeout = "{n*2}"
            [[race]]
            name = "r{n}"
            kernel = "k{n}.ptx"
            for = { m = [4, "6..8"] }
            grid = ["{m}", 2]
            args = { "0" = "in:f32[{n*m}]" }
            map = ["1 = 2", "3=4+8"]
            alias = { "0" = "1" }
            [[race]]
            kernel = "plain{.ptx"
            for = { n = 5 }
        "#;
    let m = Manifest::parse(text, Path::new("")).expect_err("a brace is not closed");
    assert_eq!(
        &text[m.span.map_or(0..0, |s| s.start as usize..s.end as usize)],
        "\"plain{.ptx\""
    );
    let m = Manifest::parse(&text.replace("plain{.", "plain."), Path::new("")).expect("valid");
    assert_eq!(m.race[0].instances.len(), 6);
    let [below, own] = &m.race[0].instances[4];
    assert_eq!(
        (own.sizes.to_string(), below.threads),
        ("m = 7, n = 1".into(), Some(1))
    );
    assert_eq!(
        (below.timeout, own.grid),
        (Some(2.0), Some(Triple([7, 2, 1])))
    );
    assert_eq!(own.args["0"].0, "in:f32[7]");
    assert_eq!(own.name.as_deref(), Some("r{n}"));
    assert_eq!(own.map[1], ("3".to_string(), "4+8".to_string()));
    assert_eq!(m.race[1].instances.len(), 1);
}

#[test]
fn threads_and_block_clash_in_one_layer() {
    let text = "[[race]]\nthreads = 4\nblock = [2, 2]\nkernel = \"k\"";
    let m = Manifest::parse(text, Path::new("")).expect("valid");
    assert!(matches!(
        Layers(&[m.race[0].head()]).kernel(Which::Kernel),
        Err(SpecError::ThreadsAndBlock)
    ));
}
