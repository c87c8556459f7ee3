/** What is learnt, shared beyond one isolate or tab. */

export { attachStore } from './attach.js';
export type { AttachedStore, AttachOptions } from './attach.js';
export { durableObjectStore, WaypostState } from './durable.js';
export type { DurableNamespace, DurableState } from './durable.js';
export { kvStore } from './kv.js';
export type { KvNamespace } from './kv.js';
export { memoryStore } from './memory.js';
export { mergeStates } from './merge.js';
export { tabStore } from './tabs.js';
export type { StatefulClient, StateStore } from './types.js';
