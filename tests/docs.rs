//! The documentation is true: its commands work and print what they are said to print, its links lead somewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use weir_testkit::stack::{Stack, Store};

/// One command of a `console` block, with what it is said to print.
struct Step {
    file: PathBuf,
    command: String,
    output: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> Vec<PathBuf> {
    let of = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut pages = [of(root()), of(&root().join("docs"))].concat();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    assert!(pages.len() >= 7, "{pages:?}");
    pages
}

fn steps() -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for file in pages() {
        let mut inside = false;
        for line in fs::read_to_string(&file).unwrap().lines() {
            if let Some(language) = line.strip_prefix("```") {
                inside = language == "console";
            } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
                steps.push(Step { file: file.clone(), command: command.into(), output: Vec::new() });
            } else if inside {
                steps.last_mut().expect("a command before its output").output.push(line.into());
            }
        }
    }
    steps
}

/// A shell in the repository, free of what an outer `make` leaves to its children.
fn shell(script: &str) -> Command {
    let mut shell = Command::new("bash");
    shell.args(["-euc", script]).current_dir(root());
    for variable in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL", "USER"] {
        shell.env_remove(variable);
    }
    shell
}

fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Whether `printed` is what was said; `…` stands for any lines, and headers that list quotas may list more of them.
fn is_as_said(printed: &str, said: &[String]) -> bool {
    let mut lines = printed.lines().map(|line| line.trim_end().trim_start_matches('\r'));
    let mut said = said.iter().peekable();
    while let Some(line) = said.next() {
        let holds = |seen: &str| seen == line || (line.starts_with("ratelimit") && seen.starts_with(line.as_str()));
        let found = if line == "…" {
            let Some(next) = said.next() else { return true };
            lines.any(|seen| seen == next)
        } else {
            lines.next().is_some_and(holds)
        };
        if !found {
            return false;
        }
    }
    lines.next().is_none()
}

/// The commands of the README's story, in their order, in one shell's variables.
fn play_the_story() -> Duration {
    let stack = Stack::plan(Store::Memory).unwrap().patience_ms(5_000).start().unwrap();
    let mut variables = String::new();
    let mut slowest_burst = Duration::ZERO;
    let story = steps().into_iter().filter(|step| step.file.ends_with("README.md"));
    for Step { command, output, .. } in story.filter(|step| !step.command.starts_with("make")) {
        if command.contains("/login") {
            weir_testkit::window::with_room(Duration::from_secs(10), Duration::from_secs(5));
        }
        let here = command.replace("http://127.0.0.1:10000", &stack.envoy.url());
        if let Some((name, _)) = here.split_once("=$(") {
            let value = printed(&mut shell(&format!("{here}; printf %s \"${name}\"")));
            assert!(value.split('.').count() == 3 && !value.contains(char::is_whitespace), "a token and nothing else: {value}");
            variables.push_str(&format!("{name}='{value}'; "));
            continue;
        }
        let begun = Instant::now();
        let seen = printed(&mut shell(&format!("{variables}{here}")));
        if command.contains("/catalog") {
            slowest_burst = slowest_burst.max(begun.elapsed());
            if slowest_burst >= REFILL {
                return slowest_burst;
            }
        }
        assert!(is_as_said(&seen, &output), "$ {command}\n{seen}");
    }
    slowest_burst
}

/// After this a token has come back, and a burst is not one any more.
const REFILL: Duration = Duration::from_millis(450);

#[test]
fn the_readmes_story_is_what_happens() {
    // A machine that was too slow for a burst plays the story again: bursts are what it is about.
    assert!((0..10).any(|_| play_the_story() < REFILL), "this machine is too slow for a burst");
}

#[test]
fn every_make_command_in_the_documentation_is_one() {
    let in_blocks = steps().into_iter().filter_map(|step| step.command.strip_prefix("make ").map(str::to_owned));
    let in_text = pages().into_iter().flat_map(|page| {
        let text = fs::read_to_string(page).unwrap();
        text.split('`').filter_map(|code| code.strip_prefix("make ").map(str::to_owned)).collect::<Vec<_>>()
    });
    let commands: Vec<String> = in_blocks.chain(in_text).filter(|command| !command.contains(['\n', '<'])).collect();
    assert!(commands.len() > 5);
    for command in commands {
        printed(&mut shell(&format!("make --dry-run {command}")));
    }
}

#[test]
fn every_option_of_the_authority_is_documented_and_is_one() {
    let help = printed(&mut shell(&format!(
        "{} --help",
        weir_testkit::repository::binary("weir-authority").expect("run make build first").display()
    )));
    let page = fs::read_to_string(root().join("docs/configuration.md")).unwrap();
    let options = |text: &str| {
        let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '-'));
        let mut options: Vec<String> =
            words.filter(|word| word.starts_with("--") && !word.starts_with("---")).map(str::to_owned).collect();
        options.sort();
        options.dedup();
        options.retain(|option| option != "--help" && option != "--version");
        options
    };
    assert_eq!(options(&page), options(&help));
}

#[test]
fn every_link_and_every_file_of_the_map_is_there() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for link in links.filter(|link| !link.is_empty() && !link.contains("://")) {
            assert!(page.parent().unwrap().join(link).exists(), "{}: {link}", page.display());
        }
    }
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let map = architecture.split("## Files").nth(1).expect("a map").split("```").nth(1).expect("a block");
    let mut folder = PathBuf::new();
    let mut files = 0;
    for line in map.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        let names = line.trim_start().split("  ").next().expect("a name");
        for name in names.split(' ') {
            let path = if line.starts_with(' ') { folder.join(name) } else { PathBuf::from(name) };
            assert!(root().join(&path).exists(), "{}", path.display());
            files += 1;
            if !line.starts_with(' ') {
                folder = path;
            }
        }
    }
    assert!(files > 20);
}
