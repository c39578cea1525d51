//! Weir on one machine, to play with.
//!
//! | module | concept |
//! |---|---|
//! | [`stack`] | store, authority, upstream and Envoy, started together |
//! | [`run`] | `make run`: start, say how to call it, stay until Ctrl-C |
//! | [`demo`] | `make demo`: start, play a story, show what happened |
//! | [`stop`] | Ctrl-C and its like |

mod demo;
mod run;
mod stack;
mod stop;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use weir_testkit::tokens::Keys;

#[derive(Parser)]
#[command(about, version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start everything, print how to call it, and stay until Ctrl-C.
    Run(run::Options),
    /// Start everything on free ports, play a short story, and show what happened.
    Demo,
    /// Print a token and nothing else.
    Token {
        /// The tenant that the user belongs to.
        #[arg(long)]
        tenant: String,
        /// The user.
        #[arg(long)]
        user: String,
    },
    /// Make the development keys in .tools/dev, unless they are there.
    Keys,
}

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Run(options) => run::run(options).await.map(|()| ExitCode::SUCCESS),
        Command::Demo => demo::play().await,
        Command::Token { tenant, user } => token(&tenant, &user),
        Command::Keys => keys(),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("weir: {error:#}");
        ExitCode::FAILURE
    })
}

fn token(tenant: &str, user: &str) -> anyhow::Result<ExitCode> {
    println!("{}", Keys::development()?.token(tenant, user));
    Ok(ExitCode::SUCCESS)
}

fn keys() -> anyhow::Result<ExitCode> {
    eprintln!("weir: public keys in {}", Keys::development()?.jwks_path().display());
    Ok(ExitCode::SUCCESS)
}
