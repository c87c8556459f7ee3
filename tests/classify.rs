//! Who is at fault: conformance vectors, and properties over everything a stranger may send.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a broken vector must stop the test"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed};
use serde_json::Value;
use waypost::engine::classify::retry_after::{hint, retry_after};
use waypost::engine::classify::{ErrorClass, Failure, Rule, Verdict, classify};
use waypost::engine::raw_tx::transaction_hash;

const ERRORS: &str = include_str!("vectors/classify.json");
const WAITS: &str = include_str!("vectors/retry_after.json");

fn rows(text: &str) -> Vec<Value> {
    serde_json::from_str(text).expect("vectors are a JSON array")
}

fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap_or_default()
}

/// The class whose name in snake case the row holds.
fn class(row: &Value) -> ErrorClass {
    let name = text(row, "class").replace('_', "");
    let same = |class: &ErrorClass| format!("{class:?}").eq_ignore_ascii_case(&name);
    ErrorClass::ALL.into_iter().find(same).expect("a class")
}

fn failure(row: &Value) -> Failure<'_> {
    Failure {
        status: row["status"].as_u64().and_then(|status| status.try_into().ok()).expect("a status"),
        code: row["code"].as_i64(),
        message: text(row, "message"),
        data: text(row, "data"),
    }
}

fn expected(row: &Value) -> Verdict {
    let flag = |name: &str| row[name].as_bool().unwrap_or(false);
    Verdict {
        class: class(row),
        limits: flag("limits"),
        retry_after: row["retry_after_ms"].as_u64().map(Duration::from_millis),
        method_missing: flag("method_missing"),
        not_executed: flag("not_executed"),
    }
}

#[test]
fn each_vector_has_its_verdict() {
    let wrong: Vec<String> = rows(ERRORS)
        .iter()
        .filter(|row| classify(&failure(row), &[]) != expected(row))
        .map(|row| format!("{row}\n    got {:?}", classify(&failure(row), &[])))
        .collect();
    assert!(wrong.is_empty(), "{} vectors differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn each_class_that_an_answer_can_have_is_covered_and_reverts_in_many_spellings() {
    let mut spellings: BTreeMap<ErrorClass, usize> = BTreeMap::new();
    for row in rows(ERRORS) {
        *spellings.entry(class(&row)).or_default() += 1;
    }
    // A timeout and an abort are events at our end, not answers.
    assert_eq!(spellings.len(), 9, "{spellings:?}");
    assert!(spellings[&ErrorClass::Revert] >= 12);
}

/// What a category of Lasso's is here, where nothing differs.
fn lasso_classes(category: &str) -> &'static [ErrorClass] {
    use ErrorClass::{
        BlockMissing, Caller, Capability, Network, RateLimit, Revert, Server, Unknown,
    };
    match category {
        // Lasso has one category for what the chain says and for transactions it refuses.
        "execution_revert" => &[Revert, Caller],
        "capability_violation" | "method_not_found" => &[Capability],
        "rate_limit" => &[RateLimit],
        "invalid_params" | "invalid_request" | "parse_error" | "user_error" | "client_error" => {
            &[Caller]
        }
        "block_not_available" => &[BlockMissing],
        "server_error" | "method_error" => &[Server],
        "chain_error" => &[Network],
        "unclassified_server_error" => &[Unknown],
        other => panic!("no such category: {other}"),
    }
}

#[test]
fn where_a_class_differs_from_lasso_s_the_vector_gives_a_reason() {
    for row in rows(ERRORS).iter().filter(|row| row["lasso"].is_string()) {
        let same = lasso_classes(text(row, "lasso")).contains(&class(row));
        assert_eq!(same, row["differs"].is_null(), "{row}");
    }
}

#[test]
fn each_wait_is_read_as_its_vector_says() {
    for row in rows(WAITS) {
        let expected = row["ms"].as_u64().map(Duration::from_millis);
        let found = match row["header"].as_str() {
            Some(header) => retry_after(header, row["date"].as_str(), row["wall_now_ms"].as_f64()),
            None => hint(text(&row, "text")),
        };
        assert_eq!(found, expected, "{row}");
    }
}

fn rule(class: ErrorClass) -> Rule {
    Rule { code: None, status: None, message_contains: Vec::new(), class }
}

#[test]
fn the_user_s_rules_come_before_everything_and_the_first_that_holds_decides() {
    let reverted = Failure {
        status: 200,
        code: Some(-32000),
        message: "Execution REVERTED",
        data: "0x08c379a0",
    };
    let by_text = Rule {
        message_contains: vec!["other".into(), "Reverted".into()],
        ..rule(ErrorClass::RateLimit)
    };
    let by_code = Rule { code: Some(-32000), ..rule(ErrorClass::Server) };
    let verdict = classify(&reverted, &[by_text.clone(), by_code.clone()]);
    assert_eq!(verdict.class, ErrorClass::RateLimit);
    assert!(verdict.limits && verdict.not_executed);
    assert_eq!(classify(&reverted, &[by_code, by_text]).class, ErrorClass::Server);
}

#[test]
fn a_rule_s_conditions_must_all_hold_and_a_rule_without_any_never_does() {
    let failure = Failure { status: 503, code: Some(7), message: "who knows", data: "" };
    let all = Rule {
        code: Some(7),
        status: Some(503),
        message_contains: vec!["KNOWS".into()],
        class: ErrorClass::Auth,
    };
    assert_eq!(classify(&failure, std::slice::from_ref(&all)).class, ErrorClass::Auth);
    for miss in [
        Rule { code: Some(8), ..all.clone() },
        Rule { status: Some(500), ..all.clone() },
        Rule { message_contains: vec!["nobody".into(), String::new()], ..all.clone() },
        rule(ErrorClass::Auth),
    ] {
        assert_eq!(
            classify(&failure, std::slice::from_ref(&miss)).class,
            ErrorClass::Server,
            "{miss:?}"
        );
    }
}

#[test]
fn a_429_limits_whatever_a_rule_makes_of_it() {
    let failure = Failure { status: 429, ..Failure::default() };
    let blame = Rule { status: Some(429), ..rule(ErrorClass::Server) };
    let verdict = classify(&failure, &[blame]);
    assert_eq!(verdict.class, ErrorClass::Server);
    assert!(verdict.limits && verdict.not_executed);
}

#[test]
fn words_far_into_a_text_are_not_looked_for() {
    let message = format!("{}rate limit", "é".repeat(4096));
    let failure = Failure { status: 200, code: Some(-32000), message: &message, data: "" };
    assert_eq!(classify(&failure, &[]).class, ErrorClass::Unknown);
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 400,
        rng_seed: RngSeed::Fixed(0x5741_5950),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/vectors/classify.proptest-regressions",
        ))),
        ..ProptestConfig::default()
    }
}

/// Codes that mean something, and any others.
fn codes() -> impl Strategy<Value = Option<i64>> {
    let known = rows(ERRORS).iter().map(|row| row["code"].as_i64()).collect::<Vec<_>>();
    prop_oneof![prop::sample::select(known), any::<Option<i64>>()]
}

/// Sentences of the vectors, anything at all, and one in the middle of the other.
fn messages() -> impl Strategy<Value = String> {
    let known = rows(ERRORS).iter().map(|row| text(row, "message").to_owned()).collect::<Vec<_>>();
    let known = prop::sample::select(known);
    prop_oneof![
        known.clone(),
        ".{0,64}",
        (".{0,16}", known, ".{0,16}").prop_map(|(before, known, after)| before + &known + &after),
    ]
}

fn data() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "0x[0-9a-fA-F]{0,80}", "0x08c379a0[0-9a-f]{0,8}", ".{0,32}"]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_verdict_is_total_and_consistent(
        status in 0_u16..=999,
        code in codes(),
        message in messages(),
        data in data(),
    ) {
        let failure = Failure { status, code, message: &message, data: &data };
        let verdict = classify(&failure, &[]);
        prop_assert_eq!(verdict, classify(&failure, &[]));
        prop_assert_eq!(
            verdict.limits,
            status == 429 || verdict.class == ErrorClass::RateLimit
        );
        prop_assert!(verdict.limits || verdict.retry_after.is_none());
        prop_assert!(!verdict.method_missing || verdict.class == ErrorClass::Capability);
        if verdict.not_executed {
            prop_assert!(!matches!(verdict.class, ErrorClass::Revert | ErrorClass::Caller));
        }
        prop_assert!(!matches!(verdict.class, ErrorClass::Timeout | ErrorClass::Abort));
    }

    #[test]
    fn a_429_always_limits_and_never_blames_the_provider_s_health(
        code in codes(),
        message in messages(),
        data in data(),
    ) {
        let failure = Failure { status: 429, code, message: &message, data: &data };
        let verdict = classify(&failure, &[]);
        prop_assert!(verdict.limits);
        prop_assert!(!matches!(
            verdict.class,
            ErrorClass::Server | ErrorClass::Network | ErrorClass::Auth | ErrorClass::Unknown
        ));
    }

    #[test]
    fn compiler_s_revert_data_is_a_revert_whatever_else_is_said(
        status in 0_u16..=999,
        code in codes(),
        message in messages(),
        tail in "[0-9a-fA-F]{0,64}",
    ) {
        let data = format!("0x08C379a0{tail}");
        let failure = Failure { status, code, message: &message, data: &data };
        prop_assert_eq!(classify(&failure, &[]).class, ErrorClass::Revert);
    }

    #[test]
    fn waits_and_hashes_never_panic_and_no_wait_is_longer_than_a_day(
        header in prop_oneof![".{0,40}", "[0-9. ,:a-zGMT-]{0,40}", "[0-9]{1,400}[smh. ]{0,3}"],
        now in any::<f64>(),
        raw in prop_oneof!["0x[0-9a-f]{0,80}", "0x03[b-f][0-9a-f]{0,80}", ".{0,20}"],
    ) {
        let day = Duration::from_hours(24);
        let text = format!("retry in {header}");
        for wait in [retry_after(&header, Some(&header), Some(now)), hint(&text), hint(&header)] {
            prop_assert!(wait.is_none_or(|wait| wait <= day));
        }
        let _ = transaction_hash(&raw);
    }
}
