use super::*;

#[test]
fn values() {
    use ArgValue::*;
    assert_eq!(ArgValue::parse("48"), Ok(Int(48)));
    assert_eq!(ArgValue::parse("-3"), Ok(Int(-3)));
    assert_eq!(ArgValue::parse("0x10"), Ok(Int(16)));
    assert_eq!(
        ArgValue::parse("0f3F000000"),
        Ok(FloatBits(Fmt::F32, 0x3f00_0000))
    );
    assert_eq!(
        ArgValue::parse("0.5").map(|v| v.float_bits(Fmt::F32)),
        Ok(Some(0x3f00_0000))
    );
    assert_eq!(
        ArgValue::parse("0.5").map(|v| v.float_bits(Fmt::F16)),
        Ok(Some(0x3800))
    );
    assert_eq!(
        ArgValue::parse("1e300").map(|v| v.float_bits(Fmt::F32)),
        Ok(None)
    );
    for bad in [
        "", "x", "nan", "nan:f32", "inf:e4m3", "-1:u8", "300:s8", "1.5:s32", "0f12", "--1", "1 2",
        "0x", "0x-1", "1e999",
    ] {
        assert!(ArgValue::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn suffixes_and_infinities() {
    let typed = |text| match ArgValue::parse(text) {
        Ok(ArgValue::Typed(ty, bits)) => (ty.name(), bits),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(typed("1.5:f32"), ("f32".into(), 0x3fc0_0000));
    assert_eq!(typed("2:f16"), ("f16".into(), 0x4000));
    assert_eq!(typed("-2:i16"), ("s16".into(), 0xfffe));
    assert_eq!(typed("-inf:bf16"), ("bf16".into(), 0xff80));
    let inf = ArgValue::parse("-inf").expect("a number");
    assert_eq!(inf.float_bits(Fmt::F32), Some(0xff80_0000));
    assert_eq!(inf.float_bits(Fmt::F16), Some(0xfc00));
    assert_eq!(inf.float_bits(Fmt::E4m3), None);
}

#[test]
fn narrow_floats_are_rounded_to_the_nearest() {
    // A tie to even, the least number that is no zero, the largest that does not overflow.
    for (v, bits) in [
        (0.1, Some(0x2e66)),
        (2049.0, Some(0x6800)),
        (2051.0, Some(0x6802)),
        (2f64.powi(-24), Some(1)),
        (2f64.powi(-25), Some(0)),
        (-2f64.powi(-26), Some(0x8000)),
        (65519.0, Some(0x7bff)),
        (65520.0, None),
    ] {
        assert_eq!(narrow_bits(Fmt::F16, v), bits, "{v}");
    }
    assert_eq!(narrow_bits(Fmt::Bf16, 1.0), Some(0x3f80));
}

#[test]
fn integers_fit_their_width() {
    assert_eq!(Int(-1).int_bits(32, false), Some(0xffff_ffff));
    assert_eq!(Int(0xffff_ffff).int_bits(32, false), Some(0xffff_ffff));
    assert_eq!(Int(0xffff_ffff).int_bits(32, true), None);
    assert_eq!(Int(1 << 32).int_bits(32, false), None);
    assert_eq!(Int(-1).int_bits(64, false), Some(u64::MAX));
    use ArgValue::Int;
}

#[test]
fn arrays() {
    let a = ArrayDecl::parse("out:f16[64,64]").expect("valid");
    assert_eq!(a.role, Some(Role::Out));
    assert_eq!(a.extent, 8192);
    assert_eq!(ArrayDecl::parse("in:f32[3,0]").map(|a| a.extent), Ok(0));
    for bad in [
        "f99[4]",
        "f32[]",
        "f32",
        "to:f32[4]",
        "f32[4",
        "f32[9999999999999999,9]",
    ] {
        assert!(ArrayDecl::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn pointers_are_read() {
    let targets = |text: &str| match ArgValue::parse(text) {
        Ok(ArgValue::Array(a)) => Some((a.extent, a.align, a.targets?)),
        _ => None,
    };
    let of = |name: &str, at| Some((name.to_string(), at));
    assert_eq!(
        targets("in:ptr[3]/align64=[$a, $b+16,0]"),
        Some((24, Some(64), vec![of("a", 0), of("b", 16), None]))
    );
    for bad in [
        "ptr[1]",
        "ptr[2]=[$a]",
        "ptr[1]=$a",
        "ptr[1]=[a]",
        "ptr[1]=[$]",
        "ptr[1]=[$a+]",
        "ptr[1]=[$a-8]",
        "out:ptr[1]=[$a]",
        "ptr[1]=[1]",
        "ptr=[$a]",
        "ptr[1]/box[1]=[$a]",
    ] {
        assert!(targets(bad).is_none(), "{bad}");
    }
}

#[test]
fn alignments() {
    let align = |text: &str| ArrayDecl::parse(text).map(|a| a.align);
    assert_eq!(align("in:f32[4]/align16"), Ok(Some(16)));
    assert_eq!(align("f16[4,4]/box[4,4]/align32/swizzle64"), Ok(Some(32)));
    assert_eq!(align("f32[4]"), Ok(None));
    for bad in [
        "align",
        "align0",
        "align3",
        "align-4",
        "align4/align8",
        "align4194304",
    ] {
        assert!(align(&format!("f32[4]/{bad}")).is_err(), "{bad}");
    }
    assert!(align("f16[4,4]/box[4,4]/align8").is_err());
}

#[test]
fn tensor_maps() {
    let a = ArrayDecl::parse("in:f16[64,128]/box[64,32]/swizzle64").expect("valid");
    let map = a.map.expect("a map");
    assert_eq!((a.extent, map.swizzle), (16384, 64));
    assert_eq!((map.bounds, map.strides), (vec![64, 32], vec![128, 1]));
    let a = ArrayDecl::parse("f32[4,8]/box[4,8]/strides[16,1]").expect("valid");
    assert_eq!(a.extent, (3 * 16 + 8) * 4);
    for bad in [
        "f16[4,4]/",
        "f16[4,4]/swizzle128",
        "f16[4,4]/box[4]",
        "f16[4,4]/box[4,4]/swizzle16",
        "f16[4,4]/box[4,4]/strides[1,2]",
        "f16[1,1,1,1,1,1]/box[1,1,1,1,1,1]",
        "f16[4,4]/box[4,4]/strides[999999999999999999,1]",
    ] {
        assert!(ArrayDecl::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn keys() {
    assert_eq!(
        Key::parse("4+16"),
        Ok(Key {
            param: ParamKey::Position(4),
            offset: Some(16)
        })
    );
    assert!(Key::parse("").is_err());
    assert!(Key::parse("0+x").is_err());
    assert!(parse_arg("3").is_err());
    assert!(parse_map("1+4=2").is_ok_and(|(a, b)| (a.offset, b.offset) == (Some(4), None)));
    assert!(parse_map("1").is_err());
}
