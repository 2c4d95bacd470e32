import type { FieldError } from '../../../packages/client/src/signalbox-error.js';
import { createContext, useContext, useEffect } from 'react';

/** What the service said about the fields of a form. */
export class FieldErrors {
  /** @param paths of the fields that show what concerns them, such as `title` */
  constructor(
    private readonly errors: readonly FieldError[],
    readonly paths: Map<string, number>,
  ) {}

  /** What is wrong with the field of this path. */
  messageOf(path: string): string | undefined {
    const messages = this.errors.filter((error) => this.fieldOf(error) === path).map(({ message }) => message);
    return messages.length === 0 ? undefined : messages.join(' ');
  }

  /** Whether the error belongs to the form, and a field shows it. */
  shows(error: FieldError): boolean {
    return this.errors.includes(error) && this.fieldOf(error) !== undefined;
  }

  /** The field that shows the error: of several, the one with the longest path. */
  private fieldOf({ path }: FieldError): string | undefined {
    const [first] = [...this.paths.keys()]
      .filter((field) => isWithin(path, field) || isWithin(path, `data.${field}`))
      .toSorted((a, b) => b.length - a.length);
    return first;
  }
}

/** Whether `data.retry.times` or `data.list[0]` is a part of `data.retry` or `data.list`. */
function isWithin(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);
}

export const FieldErrorsContext = createContext<FieldErrors | undefined>(undefined);

/**
 * What the service said about the field of the form around.
 * @param path of the value in the request, without `data.`
 */
export function useFieldError(path: string | undefined): string | undefined {
  const errors = useContext(FieldErrorsContext);
  const paths = errors?.paths;
  useEffect(() => {
    if (paths === undefined || path === undefined) return undefined;
    paths.set(path, (paths.get(path) ?? 0) + 1);
    return () => {
      const left = (paths.get(path) ?? 1) - 1;
      if (left > 0) paths.set(path, left);
      else paths.delete(path);
    };
  }, [paths, path]);
  return path === undefined ? undefined : errors?.messageOf(path);
}
