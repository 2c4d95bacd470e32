import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import { ErrorState, Loading } from '../ui/states.js';
import { readSession, type Session, signOut } from './session.js';
import { onSignedOut } from './signed-out.js';
import { SignInView } from './sign-in-view.js';

/**
 * How requests show who sends them: with the browser's cookie and a CSRF token, or with a key that only this page
 * holds.
 */
export type Credential =
  { readonly kind: 'browser'; readonly csrfToken: string } | { readonly kind: 'key'; readonly apiKey: string };

interface SignedIn {
  readonly session: Session;
  readonly credential: Credential;
  readonly signOut: () => Promise<void>;
}

const Context = createContext<SignedIn | undefined>(undefined);

/** The session of this page. Call it below `SessionProvider`. */
export function useSession(): SignedIn {
  const signedIn = useContext(Context);
  if (signedIn === undefined) throw new Error('There is no SessionProvider above.');
  return signedIn;
}

type State = { readonly session: Session; readonly apiKey?: string } | { readonly error: Error };

/** Shows its children to callers who are signed in, and the sign-in view to everyone else. */
export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const [state, setState] = useState<State>();
  const queries = useQueryClient();

  const load = useCallback(() => {
    readSession().then(
      (session) => setState({ session }),
      // Who was signed in goes on: the service may be back in a moment.
      (error: Error) => setState((current) => (current && 'session' in current ? current : { error })),
    );
  }, []);
  useEffect(load, [load]);
  // A request was refused because the session or the key has ended.
  useEffect(() => onSignedOut(load), [load]);

  const leave = useCallback(
    async (current: Session, apiKey: string | undefined) => {
      if (apiKey === undefined) await signOut(current.csrf_token);
      queries.clear();
      setState(undefined);
      load();
    },
    [load, queries],
  );

  const value = useMemo((): SignedIn | undefined => {
    if (state === undefined || 'error' in state) return undefined;
    const { session, apiKey } = state;
    if (apiKey === undefined && session.user === null) return undefined;
    return {
      session,
      credential: apiKey === undefined ? { kind: 'browser', csrfToken: session.csrf_token } : { kind: 'key', apiKey },
      signOut: () => leave(session, apiKey),
    };
  }, [state, leave]);

  if (state === undefined) return <Loading label="Loading the console" />;
  if ('error' in state) return <ErrorState error={state.error} onRetry={load} />;
  if (value === undefined) {
    return (
      <SignInView
        session={state.session}
        onSignedIn={(session, apiKey) => setState({ session, ...(apiKey && { apiKey }) })}
      />
    );
  }
  return <Context value={value}>{children}</Context>;
}
