use proptest::prelude::*;

use super::*;

/// Names that exist, names that do not, and everything that moves sideways.
fn token() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("A"),
        Just("R"),
        Just("O"),
        Just("ro"),
        Just("rw"),
        Just("sub"),
        Just("deep"),
        Just("f"),
        Just("secret"),
        Just(".."),
        Just(".."),
        Just("."),
        Just(""),
        Just("none"),
        Just("l0"),
        Just("l1"),
        Just("l2"),
        Just("l3"),
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(token(), 1..9).prop_map(|tokens| tokens.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Every granted path lies under an allowed directory and has the access of the most specific
    /// one. If the kernel resolves the same spelling to a file inside, both are the same file.
    #[test]
    fn granted_path_lies_inside(
        links in prop::collection::vec((0usize..4, 0usize..4, path(), any::<bool>()), 0..8),
        asked in prop::collection::vec(path(), 1..12),
    ) {
        let tree = Tree::new();
        for (name, dir, target, absolute) in links {
            let dir = ["A", "R", "A/sub", "R/rw"][dir];
            let target = if absolute { format!("{}/{target}", tree.base.display()) } else { target };
            if !target.is_empty() {
                let _ = std::os::unix::fs::symlink(target, tree.at(&format!("{dir}/l{name}")));
            }
        }
        for asked in asked {
            let asked = tree.at(&asked);
            if let Ok(checked) = tree.policy.read(&asked) {
                let real = true_path(&checked.how.handle);
                let right = [("A/ro", false), ("R/rw", true), ("A", true), ("R", false)];
                let right = right.iter().find(|(root, _)| real.starts_with(tree.at(root)));
                prop_assert_eq!(Some(checked.writable()), right.map(|r| r.1), "{:?} -> {:?}", asked, real);
                if let Ok(kernel) = std::fs::canonicalize(&asked) {
                    prop_assert_eq!(kernel, real);
                }
            } else if let Ok(kernel) = std::fs::canonicalize(&asked) {
                // Refused although the kernel arrives inside: only if the way led through what is
                // outside.
                let inside = ["A", "R"].iter().any(|root| kernel.starts_with(tree.at(root)));
                let error = tree.policy.read(&asked).unwrap_err();
                prop_assert!(!inside || matches!(error, PolicyError::Denied { .. }), "{:?}: {error}", asked);
            }
            if let Ok(checked) = tree.policy.write(&asked) {
                let dir = true_path(checked.dir());
                prop_assert!(["A", "R"].iter().any(|root| dir.starts_with(tree.at(root))), "{:?} -> {:?}", asked, dir);
                let mut place = dir;
                place.extend(checked.parents());
                place.push(checked.name());
                prop_assert_eq!(place.as_path(), checked.place());
                let right = if place.starts_with(tree.at("R")) { place.starts_with(tree.at("R/rw")) } else { !place.starts_with(tree.at("A/ro")) };
                prop_assert!(right, "{:?}", place);
            }
        }
    }
}
