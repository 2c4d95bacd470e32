import { type ReactNode, useContext } from 'react';
import { SignalboxError } from '../../../packages/client/src/signalbox-error.js';
import { Button } from './button.js';
import { FieldErrorsContext } from './field-errors.js';

/** Placeholder rows while data loads. */
export function Loading({ label = 'Loading' }: { readonly label?: string }) {
  return (
    <div role="status" aria-label={label} className="flex flex-col gap-3 p-4">
      {['w-1/3', 'w-full', 'w-5/6'].map((width) => (
        <div key={width} className={`h-4 animate-pulse rounded bg-muted ${width}`} />
      ))}
    </div>
  );
}

/** What a list says when it has nothing, with the next step as its child. */
export function EmptyState({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-3 rounded-lg border border-dashed px-4 py-10 text-center">
      <p className="font-medium">{title}</p>
      {children}
    </div>
  );
}

/** A view or a part of it that could not be loaded. */
export function ErrorState({ error, onRetry }: { readonly error: Error; readonly onRetry?: () => void }) {
  if (error instanceof SignalboxError && error.code === 'permission_denied')
    return <NoPermission detail={error.message} />;
  return (
    <div role="alert" className="flex flex-col items-start gap-3 rounded-lg border border-destructive/50 bg-card p-4">
      <p className="font-medium">This could not be loaded.</p>
      <ErrorMessage error={error} />
      {onRetry && (
        <Button variant="secondary" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** A view that the caller's role or key does not open. */
export function NoPermission({ detail }: { readonly detail?: string }) {
  return (
    <div className="flex flex-col gap-2 rounded-lg border bg-card p-4">
      <p className="font-medium">You do not have access to this.</p>
      <p className="text-sm text-muted-foreground">
        {detail ?? 'Your role or key does not include the permission.'} Ask an owner or admin of the organization for
        it. They can give it to your role, or to every member, in the settings.
      </p>
    </div>
  );
}

/**
 * The message of a failed action, with the request's id and what the service said about single fields. In a form, those
 * fields show it that are there.
 */
export function ErrorMessage({ error }: { readonly error: Error | null | undefined }) {
  const fields = useContext(FieldErrorsContext);
  if (!error) return null;
  const { errors: all = [], requestId } = error instanceof SignalboxError ? error : {};
  const errors = all.filter((fault) => fields?.shows(fault) !== true);
  // The message would repeat what the fields say.
  const isAtFields = all.length > 0 && errors.length === 0;
  return (
    <div role="alert" className="text-sm text-destructive">
      <p className="break-words">{isAtFields ? 'Not accepted: see the marked fields.' : error.message}</p>
      {errors.length > 0 && (
        <ul className="list-disc pl-5">
          {errors.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              {path && <code>{path}</code>} {message}
            </li>
          ))}
        </ul>
      )}
      {requestId && <p className="text-muted-foreground">Request {requestId}</p>}
    </div>
  );
}
