//! Reads a stored state out of a JavaScript value, of which nothing can be taken for granted.
//!
//! By hand: a deserialiser for this one shape weighs 40 KB of wasm, and most of that is for error texts.

use js_sys::{Array, Reflect};
use wasm_bindgen::{JsCast, JsValue};

use crate::engine::state::{BreakerState, CellState, EndpointState, MethodState, Sample, State};

/// Entries of one list that are read; a stored state is small, and a forged one shall be so too.
const LONGEST_LIST: u32 = 10_000;

/// Reads a state.
///
/// # Errors
/// The name of the first field that is missing or of the wrong type.
pub(super) fn read_state(value: &JsValue) -> Result<State, &'static str> {
    let endpoints =
        list(value, "endpoints")?.iter().map(read_endpoint).collect::<Result<_, _>>()?;
    Ok(State { version: count(value, "version")?, saved_at: number(value, "savedAt")?, endpoints })
}

fn read_endpoint(value: &JsValue) -> Result<EndpointState, &'static str> {
    let breaker = get(value, "breaker");
    let methods = list(value, "methods")?;
    Ok(EndpointState {
        profile: text(value, "profile")?,
        chain: text(value, "chain")?,
        provider: text(value, "provider")?,
        transport: text(value, "transport")?,
        breaker: if breaker.is_object() { Some(read_breaker(&breaker)?) } else { None },
        limited_for_ms: number(value, "limitedForMs")?,
        all: read_cell(&get(value, "all"))?,
        methods: methods.iter().map(read_method).collect::<Result<_, _>>()?,
    })
}

fn read_breaker(value: &JsValue) -> Result<BreakerState, &'static str> {
    let opened = get(value, "opened");
    let [ago, span] = pair(&opened);
    Ok(BreakerState {
        consecutive: count(value, "consecutive")?,
        reopens: count(value, "reopens")?,
        successes: count(value, "successes")?,
        changed_ms_ago: number(value, "changedMsAgo")?,
        opened: ago.zip(span),
    })
}

fn read_method(value: &JsValue) -> Result<MethodState, &'static str> {
    Ok(MethodState { method: text(value, "method")?, cell: read_cell(&get(value, "cell"))? })
}

fn read_cell(value: &JsValue) -> Result<CellState, &'static str> {
    let samples = list(value, "samples")?;
    Ok(CellState {
        latency_ms: get(value, "latencyMs").as_f64(),
        samples: samples.iter().map(read_sample).collect::<Result<_, _>>()?,
    })
}

fn read_sample(value: &JsValue) -> Result<Sample, &'static str> {
    let [age, latency] = pair(value);
    Ok((age.ok_or("samples")?, latency))
}

fn pair(value: &JsValue) -> [Option<f64>; 2] {
    let item = |index| Reflect::get_u32(value, index).ok().and_then(|item| item.as_f64());
    [item(0), item(1)]
}

fn get(value: &JsValue, key: &str) -> JsValue {
    Reflect::get(value, &JsValue::from_str(key)).unwrap_or_default()
}

fn text(value: &JsValue, key: &'static str) -> Result<String, &'static str> {
    get(value, key).as_string().ok_or(key)
}

fn number(value: &JsValue, key: &'static str) -> Result<f64, &'static str> {
    get(value, key).as_f64().filter(|number| number.is_finite()).ok_or(key)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn count(value: &JsValue, key: &'static str) -> Result<u32, &'static str> {
    number(value, key).map(|number| number as u32)
}

fn list(value: &JsValue, key: &'static str) -> Result<Vec<JsValue>, &'static str> {
    let array = get(value, key).dyn_into::<Array>().map_err(|_| key)?;
    if array.length() > LONGEST_LIST { Err(key) } else { Ok(array.to_vec()) }
}
