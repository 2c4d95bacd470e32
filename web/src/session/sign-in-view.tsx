import { type FormEvent, useState } from 'react';
import { Button } from '../ui/button.js';
import { TextField } from '../ui/field.js';
import { ErrorMessage } from '../ui/states.js';
import { readSessionOfKey, type Session, signIn } from './session.js';

interface SignInProps {
  readonly session: Session;
  readonly onSignedIn: (session: Session, apiKey?: string) => void;
}

/**
 * The first view of callers who are not signed in: e-mail address and password, the external provider, or an API key.
 */
export function SignInView({ session, onSignedIn }: SignInProps) {
  const [usesKey, setUsesKey] = useState(false);
  const { provider, provider_path: path } = session.sign_in;
  return (
    <main className="mx-auto flex min-h-dvh w-full max-w-sm flex-col justify-center gap-6 p-4">
      <header className="flex flex-col gap-2">
        <p className="text-sm font-semibold text-primary">Signalbox</p>
        <h1 className="text-2xl font-semibold">{usesKey ? 'Use an API key' : 'Sign in'}</h1>
      </header>
      {usesKey ? <KeyForm onSignedIn={onSignedIn} /> : <PasswordForm session={session} onSignedIn={onSignedIn} />}
      <div className="flex flex-col gap-2 border-t pt-4">
        {provider !== null && path !== null && !usesKey && (
          <Button asChild variant="secondary">
            <a href={`${path}?return_to=${encodeURIComponent(location.pathname + location.search)}`}>
              Sign in with {provider}
            </a>
          </Button>
        )}
        <Button variant="ghost" onClick={() => setUsesKey(!usesKey)}>
          {usesKey ? 'Sign in with a password' : 'Use an API key'}
        </Button>
      </div>
      {!usesKey && (
        <p className="text-sm text-muted-foreground">
          Forgot the password? An owner or admin of your organization can give you a link to set a new one.
        </p>
      )}
    </main>
  );
}

function PasswordForm({ session, onSignedIn }: SignInProps) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const { error, isBusy, submit } = useSubmit(async () =>
    onSignedIn(await signIn(session.csrf_token, email.trim(), password)),
  );
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <TextField
        label="E-mail address"
        type="email"
        autoComplete="username"
        required
        value={email}
        onChange={setEmail}
        autoFocus
      />
      <TextField
        label="Password"
        type="password"
        autoComplete="current-password"
        required
        value={password}
        onChange={setPassword}
      />
      <ErrorMessage error={error} />
      <Button type="submit" isBusy={isBusy}>
        Sign in
      </Button>
    </form>
  );
}

function KeyForm({ onSignedIn }: Pick<SignInProps, 'onSignedIn'>) {
  const [key, setKey] = useState('');
  const { error, isBusy, submit } = useSubmit(async () => {
    const apiKey = key.trim();
    onSignedIn(await readSessionOfKey(apiKey), apiKey);
  });
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <TextField
        label="API key"
        type="password"
        autoComplete="off"
        required
        value={key}
        onChange={setKey}
        hint="This page keeps the key in memory only: a reload forgets it."
        autoFocus
      />
      <ErrorMessage error={error} />
      <Button type="submit" isBusy={isBusy}>
        Continue
      </Button>
    </form>
  );
}

/** Runs `action` when the form is submitted, once at a time, and keeps its error. */
function useSubmit(action: () => Promise<void>) {
  const [error, setError] = useState<Error>();
  const [isBusy, setIsBusy] = useState(false);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isBusy) return;
    setIsBusy(true);
    setError(undefined);
    action().then(
      () => setIsBusy(false),
      (thrown: Error) => {
        setError(thrown);
        setIsBusy(false);
      },
    );
  };
  return { error, isBusy, submit };
}
