/** A race of probes, at most so many at once, that the quickest wins wherever it stands in the list. */

/** One probe under way. */
interface Runner {
  started: number;
  timer: ReturnType<typeof setTimeout> | undefined;
  controller: AbortController;
}

/**
 * Resolves to the gateway that answered in the shortest time of its own, or `undefined` if none did.
 *
 * Once one has answered, every other one only gets the time that the best has taken: whoever is slower cannot
 * win and is stopped. So a list that is longer than `most` costs little more than one round, and its end
 * has the same chance as its beginning. With a winner in hand the race ends after `timeoutMs` at the latest.
 */
export function race(
  gateways: readonly URL[],
  most: number,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  run: (gateway: URL, signal: AbortSignal) => Promise<number>,
): Promise<URL | undefined> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const underWay = new Set<Runner>();
    let next = 0;
    let best: { gateway: URL; ms: number } | undefined;
    let isOver = false;

    const finish = (): void => {
      if (isOver) return;
      isOver = true;
      signal?.removeEventListener('abort', finish);
      for (const { timer, controller } of underWay) {
        clearTimeout(timer);
        controller.abort();
      }
      if (signal?.aborted === true) reject(signal.reason);
      else resolve(best?.gateway);
    };

    const shorten = (runner: Runner, limitMs: number): void => {
      clearTimeout(runner.timer);
      const leftMs = runner.started + limitMs - performance.now();
      if (leftMs <= 0) runner.controller.abort();
      else runner.timer = setTimeout(() => runner.controller.abort(), leftMs);
    };

    const start = (gateway: URL): void => {
      const runner: Runner = { started: performance.now(), timer: undefined, controller: new AbortController() };
      underWay.add(runner);
      if (best !== undefined) shorten(runner, best.ms);
      const { signal: stopped } = runner.controller;
      const lost = new Promise<never>((_, fail) => stopped.addEventListener('abort', () => fail(stopped.reason), { once: true }));
      const settle = (ms: number): void => {
        clearTimeout(runner.timer);
        underWay.delete(runner);
        if (!isOver && ms < (best?.ms ?? Infinity)) {
          best = { gateway, ms };
          for (const other of underWay) shorten(other, ms);
        }
        launch();
      };
      Promise.race([run(gateway, stopped), lost]).then(settle, () => settle(Infinity));
    };

    const launch = (): void => {
      if (best !== undefined && performance.now() - began >= timeoutMs) return finish();
      for (let gateway = gateways[next]; gateway !== undefined && underWay.size < most && !isOver; gateway = gateways[next]) {
        next += 1;
        start(gateway);
      }
      if (underWay.size === 0) finish();
    };

    signal?.addEventListener('abort', finish, { once: true });
    if (signal?.aborted === true) finish();
    else launch();
  });
}
