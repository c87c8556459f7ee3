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

/** A profile that does not exist. */
export class UnknownProfile extends Refusal {
  constructor(message: string) {
    super(404, -32602, message, {}, { error_type: 'profile_not_found' });
  }
}
