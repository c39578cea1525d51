//! What was expected and what was seen, as a table.

use std::fmt;

/// The rows so far.
#[derive(Debug, Default)]
pub(super) struct Report {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    step: String,
    expected: String,
    seen: String,
}

impl Row {
    fn held(&self) -> bool {
        self.expected == self.seen
    }

    fn cells(&self) -> [&str; 4] {
        [&self.step, &self.expected, &self.seen, if self.held() { "yes" } else { "NO" }]
    }
}

impl Report {
    /// Adds a row, which holds when both texts are equal, and says on stderr that it is done.
    pub(super) fn row(&mut self, step: &str, expected: impl Into<String>, seen: impl Into<String>) {
        let row = Row { step: step.to_owned(), expected: expected.into(), seen: seen.into() };
        eprintln!("weir: {}: {}", row.step, if row.held() { "as expected" } else { "NOT as expected" });
        self.rows.push(row);
    }

    /// Whether there was a story and all of it held.
    pub(super) fn all_held(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(Row::held)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["step", "expected", "seen", "held"];
        let rows: Vec<_> = std::iter::once(head).chain(self.rows.iter().map(Row::cells)).collect();
        let width = |column: usize| rows.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0);
        let widths = [width(0), width(1), width(2), width(3)];
        for (index, cells) in rows.iter().enumerate() {
            let padded: Vec<_> = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            writeln!(out, "{}", padded.join("  ").trim_end())?;
            if index == 0 {
                writeln!(out, "{}", widths.map(|width| "-".repeat(width)).join("  "))?;
            }
        }
        let failed = self.rows.iter().filter(|row| !row.held()).count();
        match failed {
            0 => write!(out, "\nAll of it held."),
            failed => write!(out, "\n{failed} of {} did not hold.", self.rows.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_difference_is_shown_and_fails_the_whole() {
        let mut report = Report::default();
        report.row("a", "200", "200");
        assert!(report.all_held());
        report.row("longer", "200", "429");
        assert!(!report.all_held());
        assert_eq!(
            report.to_string(),
            "step    expected  seen  held\n\
             ------  --------  ----  ----\n\
             a       200       200   yes\n\
             longer  200       429   NO\n\
             \n1 of 2 did not hold."
        );
    }

    #[test]
    fn nothing_played_is_nothing_that_held() {
        assert!(!Report::default().all_held());
    }
}
