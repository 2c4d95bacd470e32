import { readSettings } from '../../src/core/config/settings.js';

/** Variables that `src/core/config` hands on to the programs of connections. They belong to the system, not to the service. */
const OF_THE_SYSTEM = ['HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'PATH', 'SHELL', 'TMPDIR', 'TZ', 'USER'];

/** Settings of which others depend: with these, `readSettings` reads all names. */
const WITH_EVERYTHING = {
  REDIS_URL: 'rediss+sentinel://sentinel/master',
  OTEL_TRACES_EXPORTER: 'otlp',
  OTEL_METRICS_EXPORTER: 'otlp',
};

/** The name of every setting: of each variable that `readSettings` reads. Sorted. */
export function settingNames(): string[] {
  const names = new Set<string>();
  for (const env of [{}, WITH_EVERYTHING]) {
    const observed: NodeJS.ProcessEnv = new Proxy<NodeJS.ProcessEnv>(env, {
      get: (target, name) => {
        names.add(String(name));
        return target[String(name)];
      },
    });
    readSettings(observed);
  }
  return [...names].filter((name) => !OF_THE_SYSTEM.includes(name)).toSorted();
}
