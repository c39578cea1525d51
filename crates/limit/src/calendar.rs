//! Calendar months in UTC, as integers: when the month of a moment began, and when the next one begins.
//!
//! Days are counted in the proleptic Gregorian calendar with years that begin in March, so that the leap day
//! is a year's last. A month is found from the day of such a year by `(5 × day + 2) / 153`, since months from
//! March on have 153 days in every five.

const DAY_MS: u64 = 86_400_000;

/// From 1 March of the year 0 to 1 January 1970.
const DAYS_BEFORE_EPOCH: u64 = 719_468;
const DAYS_IN_400_YEARS: u64 = 146_097;

/// The month that `now_ms` (milliseconds since the Unix epoch) lies in: its first millisecond, and the next month's.
#[must_use]
pub fn month(now_ms: u64) -> (u64, u64) {
    let days = now_ms / DAY_MS + DAYS_BEFORE_EPOCH;
    let day_of_era = days % DAYS_IN_400_YEARS;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let first = |month: u64| (153 * month + 2) / 5;

    // February, the last month, ends with its year: which is as long as the next 1 March is far.
    let next_year = year_of_era + 1;
    let year_days =
        365 + u64::from(next_year.is_multiple_of(4) && !next_year.is_multiple_of(100) || next_year.is_multiple_of(400));
    let next = if month == 11 { year_days } else { first(month + 1) };

    let year_start = days - day_of_year;
    let at = |day_of_year: u64| (year_start + day_of_year).saturating_sub(DAYS_BEFORE_EPOCH).saturating_mul(DAY_MS);
    (at(first(month)), at(next))
}
