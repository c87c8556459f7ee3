/** Checks the options of the content client, and brings both of their forms into one. */

import { checkKeys, checkMethod } from '../checks.js';
import { refuse } from '../refusal.js';
import { checkVerification } from './verification.js';
import type { RoutingSettings, VerificationSettings, WayfinderFetchOptions, WayfinderOptions, WayfinderRequestInit } from './types.js';

const NESTED =
  'routingSettings verificationSettings telemetrySettings gatewaysProvider dataRetrievalStrategy fetch logger idleTimeoutMs deadlineMs attemptTimeoutMs maxAttempts circuitBreaker rateLimit now seed'.split(
    ' ',
  );
const BREAKER = 'failureThreshold thresholds recoveryMs maxRecoveryMs successThreshold jitter'.split(' ');
const FLAT = 'routingStrategy verificationStrategy strict events emitter tracer'.split(' ');

/** Both forms at once: what the flat form has wins. */
export function nested(options: WayfinderFetchOptions & WayfinderOptions): WayfinderOptions {
  checkKeys('createWayfinderClient', options, [...NESTED, ...FLAT]);
  const { routingStrategy, verificationStrategy, strict, events, emitter: _, tracer: __, ...rest } = options;
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
  checkKeys('Wayfinder', options, NESTED);
  const { gatewaysProvider, dataRetrievalStrategy, fetch, idleTimeoutMs } = options;
  if (gatewaysProvider !== undefined) checkMethod('Wayfinder', 'gatewaysProvider', gatewaysProvider, 'getGateways');
  if (dataRetrievalStrategy !== undefined) checkMethod('Wayfinder', 'dataRetrievalStrategy', dataRetrievalStrategy, 'getData');
  if (fetch !== undefined && typeof fetch !== 'function') refuse('Wayfinder: fetch', 'a function', fetch);
  if (idleTimeoutMs !== undefined && !(idleTimeoutMs >= 1 && idleTimeoutMs <= 86_400_000)) {
    refuse('Wayfinder: idleTimeoutMs', 'a number from 1 to 86400000', idleTimeoutMs);
  }
  for (const key of ['deadlineMs', 'attemptTimeoutMs', 'maxAttempts', 'seed'] as const) checkIsNumber(key, options[key]);
  if (options.now !== undefined && typeof options.now !== 'function') refuse('Wayfinder: now', 'a function', options.now);
  checkNumbers('circuitBreaker', options.circuitBreaker, BREAKER);
  checkNumbers('circuitBreaker.thresholds', options.circuitBreaker?.thresholds, ['server', 'network', 'timeout', 'auth']);
  checkNumbers('rateLimit', options.rateLimit, ['defaultMs', 'maxMs']);
  checkSettings(options);
}

/** Ranges are the engine's, which names them; what is no number would not get there. */
function checkIsNumber(path: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'number') refuse(`Wayfinder: ${path}`, 'a number', value);
}

function checkNumbers(path: string, values: object | undefined, known: readonly string[]): void {
  if (values === undefined) return;
  checkKeys(path, values, known);
  for (const [key, value] of Object.entries(values)) if (key !== 'thresholds') checkIsNumber(`${path}.${key}`, value);
}

/** Checks what a request may bring as well. */
export function checkSettings({ routingSettings, verificationSettings }: WayfinderRequestInit | WayfinderOptions): void {
  if (routingSettings !== undefined) checkRouting(routingSettings);
  if (verificationSettings !== undefined) {
    const { strategy } = verificationSettings;
    checkKeys('verificationSettings', verificationSettings, ['enabled', 'strategy', 'strict', 'raw', 'events']);
    if (strategy !== undefined) checkMethod('verificationSettings', 'strategy', strategy, 'verifyData');
  }
}

function checkRouting(settings: RoutingSettings): void {
  checkKeys('routingSettings', settings, ['strategy', 'events']);
  if (settings.strategy !== undefined) checkMethod('routingSettings', 'strategy', settings.strategy, 'selectGateway');
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
