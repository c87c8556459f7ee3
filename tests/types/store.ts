import { attachStore, createRpcClient, memoryStore, durableObjectStore, kvStore, tabStore, WaypostState, mergeStates } from 'waypost';
const rpc = createRpcClient({ providers: ['https://a.example'] });
attachStore(rpc, memoryStore(), { onError: console.warn }).touch((promise) => void promise);
attachStore(rpc, tabStore());
attachStore(rpc, { load: async () => JSON.parse('1') as unknown, save: async (state) => void state });
declare class Id { readonly name?: string }
declare class Stub { readonly id: Id; fetch(input: Request | string | URL, init?: RequestInit): Promise<Response> }
declare class Ns { idFromName(name: string): Id; get(id: Id, options?: { locationHint?: string }): Stub; newUniqueId(): Id }
attachStore(rpc, durableObjectStore(new Ns()));
declare class Kv<Key extends string = string> {
  get(key: Key, options?: { type?: 'text' }): Promise<string | null>;
  get(key: Array<Key>, type: 'text'): Promise<Map<string, string | null>>;
  get(key: Array<Key>, options?: { cacheTtl?: number }): Promise<Map<string, string | null>>;
  put(key: Key, value: string | ArrayBuffer, options?: { expirationTtl?: number; metadata?: unknown }): Promise<void>;
}
attachStore(rpc, kvStore(new Kv()));
mergeStates([rpc.exportState({ own: true })]);
new WaypostState({ storage: { list: async () => new Map(), put: async () => {}, delete: async () => 1 } });
