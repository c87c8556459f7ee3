/** Requests that are refused before any provider is asked. */

/** A refusal with its status and the JSON-RPC error in its body. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: number,
    message: string,
    readonly headers: Record<string, string> = {},
    readonly data?: object,
  ) {
    super(message);
  }
}
