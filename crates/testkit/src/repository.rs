//! Where this repository is, and what it builds.

use std::{
    env,
    path::{Path, PathBuf},
};

/// The repository's root.
#[must_use]
pub fn root() -> PathBuf {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_dir.ancestors().nth(2).unwrap_or(crate_dir).to_owned()
}

/// The built filter: `make filter` puts it there.
#[must_use]
pub fn filter() -> PathBuf {
    target_dir().join("filter/weir.wasm")
}

/// A binary of this workspace: beside the running program, so of the same profile, else of any profile.
#[must_use]
pub fn binary(name: &str) -> Option<PathBuf> {
    let running = env::current_exe().unwrap_or_default();
    // A program is in target/<profile>, a test in target/<profile>/deps.
    let beside = running.ancestors().skip(1).take(2).map(Path::to_owned);
    let target = target_dir();
    beside.chain(["debug", "release"].map(|profile| target.join(profile))).map(|dir| dir.join(name)).find(|path| path.is_file())
}

fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}
