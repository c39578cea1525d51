//! Policies with a defect, one a file, each with the message that people get.
//!
//! The files under `policies/invalid` begin with one line `# expect: <path>: <message>` for each mistake.

use std::path::{Path, PathBuf};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/invalid");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn each_defect_is_reported_in_the_words_expected() {
    let mut surprises = Vec::new();
    for file in files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let expected: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("# expect: ")).collect();
        assert!(!expected.is_empty(), "{} expects nothing", file.display());
        let seen = weir_policy::yaml::load(&text).err().map(|errors| errors.to_string()).unwrap_or_default();
        if seen.lines().ne(expected) {
            surprises.push(format!("{}:\n{seen}", file.display()));
        }
    }
    assert!(surprises.is_empty(), "other messages than expected:\n{}", surprises.join("\n"));
}

#[test]
fn there_are_only_policies_in_the_folder() {
    let files = files();
    assert!(files.len() > 80, "{} files", files.len());
    assert!(files.iter().all(|file| file.extension().is_some_and(|extension| extension == "yaml")));
}

#[test]
fn no_message_carries_a_control_character() {
    for file in files() {
        let errors = weir_policy::yaml::load(&std::fs::read_to_string(&file).unwrap()).unwrap_err();
        for error in errors.0 {
            assert!(!error.to_string().contains(char::is_control), "{}: {error:?}", file.display());
        }
    }
}
