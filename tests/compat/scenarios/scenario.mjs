/**
 * A scenario is run with each package: `run({ lib, world })` answers with a sentence. `right` is the sentence that ours
 * must give. With a `why`, theirs gives another one, and that is the reason; without, both must agree.
 */
export const same = (name, right, run) => ({ name, right, run })
export const better = (name, right, why, run) => ({ name, right, why, run })
