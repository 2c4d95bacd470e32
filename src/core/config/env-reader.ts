/** An invalid setting. The message names the variable and never contains a secret value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Typed access to environment variables. An empty variable counts as unset. */
export class EnvReader {
  private readonly env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv) {
    this.env = env;
  }

  text(name: string): string | undefined {
    const value = this.env[name]?.trim();
    return value === '' ? undefined : value;
  }

  integer(name: string, min: number, max: number, fallback: number): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new ConfigError(`${name} must be a whole number from ${min} to ${max}.`);
    }
    return value;
  }

  flag(name: string, fallback: boolean): boolean {
    return this.oneOf(name, ['true', 'false'], fallback ? 'true' : 'false') === 'true';
  }

  oneOf<T extends string>(name: string, values: readonly T[], fallback: T): T {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = values.find((candidate) => candidate === text);
    if (value === undefined) throw new ConfigError(`${name} must be one of ${values.join(', ')}.`);
    return value;
  }

  /** A comma-separated list. An empty variable means the empty list. */
  list(name: string, fallback: readonly string[]): readonly string[] {
    const raw = this.env[name];
    if (raw === undefined) return fallback;
    return raw
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
  }

  url(name: string, protocols: readonly string[]): string | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (!URL.canParse(text) || !protocols.includes(new URL(text).protocol)) {
      throw new ConfigError(`${name} must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}.`);
    }
    return text;
  }
}
