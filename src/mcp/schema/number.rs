//! Numbers and counts: as they are compared, and as they are equal.

use std::cmp::Ordering;

use replay_base::text::count::counted;
use serde_json::{Map, Number, Value};

/// Returns the constraint of a numeric keyword that a number violates, if any.
pub(super) fn violation(
    keyword: &str,
    schema: &Value,
    members: &Map<String, Value>,
    number: &Number,
) -> Option<String> {
    let Value::Number(bound) = schema else {
        return None;
    };
    let order = compare(number, bound);
    // Draft 4 says it with a word beside the bound.
    let exclusive = |keyword: &str| members.get(keyword) == Some(&Value::Bool(true));
    match keyword {
        "minimum" if exclusive("exclusiveMinimum") && order.is_le() => {
            Some(format!("be more than {bound}"))
        }
        "minimum" if order.is_lt() => Some(format!("be at least {bound}")),
        "maximum" if exclusive("exclusiveMaximum") && order.is_ge() => {
            Some(format!("be less than {bound}"))
        }
        "maximum" if order.is_gt() => Some(format!("be at most {bound}")),
        "exclusiveMinimum" if order.is_le() => Some(format!("be more than {bound}")),
        "exclusiveMaximum" if order.is_ge() => Some(format!("be less than {bound}")),
        "multipleOf" if !is_multiple(number, bound) => Some(format!("be a multiple of {bound}")),
        _ => None,
    }
}

/// Returns the correction for a wrong number of characters, items or properties, if any.
pub(super) fn count_violation(
    keyword: &str,
    schema: &Value,
    count: usize,
    [one, several]: [&str; 2],
) -> Option<String> {
    let bound = super::count_of(schema)?;
    let bounded = counted(bound as u64, one, several);
    match &keyword[..3] {
        "min" if count < bound => Some(format!("have at least {bounded}")),
        "max" if count > bound => Some(format!("have at most {bounded}")),
        _ => None,
    }
}

fn whole(number: &Number) -> Option<i128> {
    number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from))
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

fn compare(one: &Number, other: &Number) -> Ordering {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => float(one).total_cmp(&float(other)),
    }
}

fn is_multiple(number: &Number, of: &Number) -> bool {
    if let (Some(number), Some(of)) = (whole(number), whole(of)) {
        return of != 0 && number % of == 0;
    }
    // 0.3 is a multiple of 0.1, although neither is a binary fraction.
    let ratio = float(number) / float(of);
    ratio.is_finite() && (ratio - ratio.round()).abs() <= f64::EPSILON * ratio.abs().max(1.0)
}

/// Returns a canonical text, which equal numbers share.
pub(super) fn canonical(number: &Number) -> String {
    match whole(number) {
        Some(whole) => whole.to_string(),
        None if float(number).fract() == 0.0 => format!("{:.0}", float(number)),
        None => float(number).to_string(),
    }
}
