//! The classes in a headless browser: the real engine behind the package's own shell, with a `fetch` that
//! answers on the spot.
//!
//! The shell is the built one, `pkg/dist/shell.js`, so `cargo xtask build` comes first.

#![cfg(target_arch = "wasm32")]

use std::cell::Cell;
use std::rc::Rc;

use gloo_timers::future::TimeoutFuture;
use js_sys::{Array, Promise, Reflect};
use serde_json::{Value, json};
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use waypost::js::Engine;

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen(module = "/pkg/dist/shell.js")]
extern "C" {
    #[wasm_bindgen(js_name = RpcClient)]
    type RpcClient;

    #[wasm_bindgen(js_name = createRpcClient, catch)]
    fn create_rpc_client(options: &JsValue) -> Result<RpcClient, JsValue>;
    #[wasm_bindgen(js_name = provideEngine)]
    fn provide_engine(class: &JsValue);

    #[wasm_bindgen(method)]
    fn request(this: &RpcClient, request: &JsValue, options: &JsValue) -> Promise;
    #[wasm_bindgen(method)]
    fn on(this: &RpcClient, event: &str, listener: &JsValue);
    #[wasm_bindgen(method)]
    fn explain(this: &RpcClient, query: &JsValue) -> JsValue;
    #[wasm_bindgen(method)]
    fn status(this: &RpcClient) -> JsValue;
    #[wasm_bindgen(method)]
    fn dispose(this: &RpcClient);
}

#[wasm_bindgen(inline_js = r"
export function classOf(make) {
  return function Engine(seed) { return make(seed); };
}
export function answers(delay) {
  return async function fetch(url, init) {
    if (this !== undefined) throw new Error('fetch was called with a this');
    await new Promise((resolve, reject) => {
      setTimeout(resolve, delay);
      init.signal.addEventListener('abort', () => reject(init.signal.reason));
    });
    const { id, method } = JSON.parse(init.body);
    return new Response(JSON.stringify({ jsonrpc: '2.0', id, result: method }));
  };
}
const saved = {};
export function forbidHost() {
  for (const name of ['fetch', 'setTimeout', 'setInterval', 'queueMicrotask']) {
    saved[name] = globalThis[name];
    globalThis[name] = () => { throw new Error(name + ' was called'); };
  }
  for (const [object, name] of [[crypto, 'getRandomValues'], [Math, 'random'], [Date, 'now'], [performance, 'now']]) {
    saved[name] = object[name].bind(object);
    object[name] = () => { throw new Error(name + ' was called'); };
  }
}
export function allowHost() {
  for (const name of ['fetch', 'setTimeout', 'setInterval', 'queueMicrotask']) globalThis[name] = saved[name];
  delete crypto.getRandomValues;
  delete performance.now;
  Math.random = saved.random;
  Date.now = saved.now;
}
")]
extern "C" {
    #[wasm_bindgen(js_name = classOf)]
    fn class_of(make: &JsValue) -> JsValue;
    fn answers(delay: u32) -> JsValue;
    #[wasm_bindgen(js_name = forbidHost)]
    fn forbid_host();
    #[wasm_bindgen(js_name = allowHost)]
    fn allow_host();
}

fn js(value: &Value) -> JsValue {
    use serde::Serialize;
    value.serialize(&Serializer::json_compatible()).unwrap()
}

/// Lets the shell make real engines, each passed through `wrap`.
fn provide(wrap: impl Fn(JsValue) -> JsValue + 'static) {
    let make = Closure::<dyn Fn(Option<f64>) -> JsValue>::new(move |seed| {
        wrap(JsValue::from(Engine::new(seed)))
    });
    provide_engine(&class_of(make.as_ref()));
    make.forget();
}

fn options(more: &Value, fetch: &JsValue) -> JsValue {
    let options = js(more);
    if Reflect::get(&options, &"providers".into()).unwrap().is_undefined() {
        let providers = json!(["https://a.test/", { "id": "b", "url": "https://b.test/" }]);
        Reflect::set(&options, &"providers".into(), &js(&providers)).unwrap();
    }
    Reflect::set(&options, &"fetch".into(), fetch).unwrap();
    options
}

fn client(delay: u32) -> RpcClient {
    provide(|engine| engine);
    create_rpc_client(&options(&json!({}), &answers(delay))).unwrap_or_else(|_| panic!("options"))
}

fn call(method: &str) -> JsValue {
    js(&json!({ "method": method }))
}

fn message(error: &JsValue) -> String {
    Reflect::get(error, &"message".into()).unwrap().as_string().unwrap()
}

#[wasm_bindgen_test]
async fn a_hundred_calls_at_once_are_all_answered() {
    let rpc = client(5);
    let calls: Array =
        (0..100).map(|n| rpc.request(&call(&format!("eth_get{n}")), &js(&json!({})))).collect();
    let answers = Array::from(&JsFuture::from(Promise::all(&calls)).await.unwrap());
    for n in 0..100 {
        assert_eq!(answers.get(n).as_string(), Some(format!("eth_get{n}")));
    }
    let open = Reflect::get(&rpc.status(), &"openRequests".into()).unwrap();
    assert_eq!(open.as_f64(), Some(0.0));
}

#[wasm_bindgen_test]
async fn a_listener_may_call_back_in() {
    let rpc = Rc::new(client(1));
    let calls = Rc::new(Cell::new(0));
    let nested = Rc::new(Array::new());
    let listener = {
        let (rpc, calls, nested) = (rpc.clone(), calls.clone(), nested.clone());
        Closure::<dyn Fn(JsValue)>::new(move |_event| {
            calls.set(calls.get() + 1);
            assert!(rpc.status().is_object());
            assert!(Array::is_array(&rpc.explain(&call("eth_call"))));
            if calls.get() < 5 {
                nested.push(&rpc.request(&call("eth_chainId"), &js(&json!({}))));
            }
        })
    };
    rpc.on("attempt", listener.as_ref());
    JsFuture::from(rpc.request(&call("eth_call"), &js(&json!({})))).await.unwrap();
    while nested.length() < 4 {
        TimeoutFuture::new(1).await;
    }
    let answers = Array::from(&JsFuture::from(Promise::all(&nested)).await.unwrap());
    assert_eq!(answers.length(), 4);
    assert!(answers.iter().all(|answer| answer.as_string().as_deref() == Some("eth_chainId")));
    assert!(calls.get() >= 5);
}

#[wasm_bindgen_test]
fn options_are_refused_by_path_value_and_range() {
    provide(|engine| engine);
    for (wrong, expected) in [
        (json!({ "deadlineMs": 0 }), "deadlineMs must be from 1 to 86400000, but is 0."),
        (
            json!({ "circuitBreaker": { "thresholds": { "timeout": 1001 } } }),
            "circuitBreaker.thresholds.timeout must be from 1 to 1000, but is 1001.",
        ),
        (
            json!({ "providers": [{ "url": "https://a.test", "rateLimit": { "rps": -1 } }] }),
            "providers[0].rateLimit.rps must be from 0.001 to 1000000, but is -1.",
        ),
        (json!({ "maxAttempts": "4" }), "maxAttempts must be a number, but is \"4\"."),
        (json!({ "stratgy": "fastest" }), "Did you mean \"strategy\"?"),
        (json!({ "providers": [] }), "providers must be an array with at least 1 entry"),
    ] {
        let error = create_rpc_client(&options(&wrong, &answers(0))).err().expect("refused");
        assert!(message(&error).contains(expected), "{}", message(&error));
    }
}

#[wasm_bindgen_test]
async fn an_abort_rejects_at_once_with_the_caller_s_reason() {
    let rpc = client(60_000);
    let controller = web_sys::AbortController::new().unwrap();
    let options = js(&json!({}));
    Reflect::set(&options, &"signal".into(), &controller.signal()).unwrap();
    let pending = rpc.request(&call("eth_call"), &options);
    controller.abort_with_reason(&"enough".into());
    let error = JsFuture::from(pending).await.unwrap_err();
    assert_eq!(Reflect::get(&error, &"name".into()).unwrap(), "AbortError");
    assert_eq!(Reflect::get(&error, &"cause".into()).unwrap(), "enough");
}

#[wasm_bindgen_test]
async fn a_disposed_client_rejects_what_is_under_way_and_what_comes() {
    let rpc = client(60_000);
    let pending = rpc.request(&call("eth_call"), &js(&json!({})));
    rpc.dispose();
    rpc.dispose();
    let error = JsFuture::from(pending).await.unwrap_err();
    assert_eq!(Reflect::get(&error, &"name".into()).unwrap(), "AbortError");
    let error = JsFuture::from(rpc.request(&call("eth_call"), &js(&json!({})))).await.unwrap_err();
    assert!(message(&error).contains("disposed"), "{}", message(&error));
}

#[wasm_bindgen_test]
async fn construction_touches_neither_network_nor_timers_nor_clock_nor_entropy() {
    provide(|engine| engine);
    let fetch = answers(0);
    let options = options(&json!({}), &fetch);
    forbid_host();
    let rpc = create_rpc_client(&options);
    allow_host();
    let rpc = rpc.unwrap_or_else(|error| panic!("{}", message(&error)));
    let answer = JsFuture::from(rpc.request(&call("eth_call"), &js(&json!({})))).await.unwrap();
    assert_eq!(answer, "eth_call");
}
