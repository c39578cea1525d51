//! `weir-trim IN OUT`: the filter without the callbacks that it does not use.
//!
//! The SDK exports all callbacks there are, most of them empty, and Envoy calls whatever is exported: for each
//! piece of a body, for trailers, at the end of a stream, twice where two filters stand. What is not exported
//! costs nothing. The linker cannot leave them out, so they are taken out afterwards.

use std::process::ExitCode;
use wasm_encoder::{ExportKind, ExportSection, Module, RawSection};
use wasmparser::{ExternalKind, Parser, Payload};

/// What the host needs to run a module, and the callbacks that `src/wasm` answers.
const USED: [&str; 12] = [
    "memory",
    "_initialize",
    "proxy_abi_version_0_2_1",
    "proxy_on_memory_allocate",
    "proxy_on_context_create",
    "proxy_on_configure",
    "proxy_on_tick",
    "proxy_on_queue_ready",
    "proxy_on_http_call_response",
    "proxy_on_request_headers",
    "proxy_on_response_headers",
    "proxy_on_delete",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = arguments.as_slice() else {
        eprintln!("weir-trim: call it with two files: the filter as it was built, and where to put the trimmed one");
        return ExitCode::FAILURE;
    };
    let trimmed = std::fs::read(from).map_err(|error| format!("{from}: {error}")).and_then(|module| trim(&module));
    match trimmed.and_then(|module| std::fs::write(to, module).map_err(|error| format!("{to}: {error}"))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir-trim: {error}");
            ExitCode::FAILURE
        }
    }
}

fn trim(module: &[u8]) -> Result<Vec<u8>, String> {
    let unreadable = |error: wasmparser::BinaryReaderError| format!("not a module that can be read: {error}");
    let mut trimmed = Module::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload.map_err(unreadable)?;
        if let Payload::ExportSection(exports) = payload {
            let exports = exports.into_iter().collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
            trimmed.section(&used(&exports)?);
        } else if let Some((id, range)) = payload.as_section() {
            let range = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
            let data = range.and_then(|(start, end)| module.get(start..end)).ok_or("a section beyond the module's end")?;
            trimmed.section(&RawSection { id, data });
        }
    }
    Ok(trimmed.finish())
}

/// The exports that are used; all of them must be there, or Envoy would refuse the module, or never call it.
fn used(exports: &[wasmparser::Export<'_>]) -> Result<ExportSection, String> {
    let mut section = ExportSection::new();
    for name in USED {
        let export = exports.iter().find(|export| export.name == name).ok_or(format!("it does not export {name}"))?;
        let kind = match export.kind {
            ExternalKind::Func => ExportKind::Func,
            ExternalKind::Memory => ExportKind::Memory,
            other => return Err(format!("{name} is exported as {other:?}")),
        };
        section.export(name, kind, export.index);
    }
    Ok(section)
}
