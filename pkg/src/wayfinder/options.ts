/** Checks the options of the content client, and brings both of their forms into one. */

import { anything, callable, check, number } from '../checks.js';
import type { Table, Test } from '../checks.js';
import { limits } from '../options.js';
import { checkVerification } from './verification.js';
import type { VerificationSettings, WayfinderFetchOptions, WayfinderOptions, WayfinderRequestInit } from './types.js';

const duration: Test = (value) => !(Number(value) >= 1 && Number(value) <= 86_400_000) && 'a number from 1 to 86400000';

/** What a request may bring as well. */
const SETTINGS = {
  routingSettings: { strategy: 'selectGateway', events: anything },
  verificationSettings: { enabled: anything, strategy: 'verifyData', strict: anything, raw: anything, events: anything },
};

const nestedForm = (): Table => ({
  ...SETTINGS,
  ...limits,
  telemetrySettings: anything,
  gatewaysProvider: 'getGateways',
  dataRetrievalStrategy: 'getData',
  fetch: callable,
  logger: anything,
  idleTimeoutMs: duration,
  now: callable,
  seed: number,
});

/** Both forms at once: what the flat form has wins. */
export function nested(options: WayfinderFetchOptions & WayfinderOptions): WayfinderOptions {
  const flat = {
    routingStrategy: 'selectGateway',
    verificationStrategy: 'verifyData',
    strict: anything,
    events: anything,
    emitter: 'emit',
    tracer: anything,
  };
  const checked = check('createWayfinderClient', options, { ...nestedForm(), ...flat });
  const { routingStrategy, verificationStrategy, strict, events, emitter: _, tracer: __, ...rest } = checked;
  const given = <T extends object>(values: T): Partial<T> =>
    Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
  return {
    ...rest,
    routingSettings: { ...rest.routingSettings, ...given({ strategy: routingStrategy, events }) },
    verificationSettings: { ...rest.verificationSettings, ...given({ strategy: verificationStrategy, strict, events }) },
  };
}

/** Checks options of the class. */
export function checkOptions(options: WayfinderOptions): void {
  check('Wayfinder', options, nestedForm());
}

/** Checks what a request may bring as well. */
export function checkSettings(settings: WayfinderRequestInit): void {
  check('Wayfinder', settings, SETTINGS);
}

/** The settings in force, complete; `given` are those that are new, and a strategy among them is meant to be used. */
export function verificationOf(
  settings: VerificationSettings = {},
  given: VerificationSettings | undefined = settings,
): VerificationSettings & { enabled: boolean } {
  const { events = {}, strict = false, raw = false, strategy } = settings;
  const enabled = given.enabled ?? (given.strategy !== undefined || settings.enabled === true);
  const complete = { enabled, events, strict, raw, strategy };
  checkVerification(complete);
  return complete;
}
