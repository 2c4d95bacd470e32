import { Check, Copy } from 'lucide-react';
import { useState } from 'react';
import { Button, type ButtonProps } from './button.js';

/** Copies a text, and says so. */
export function CopyButton({
  text,
  label = 'Copy',
  ...rest
}: { readonly text: string; readonly label?: string } & Pick<ButtonProps, 'size' | 'variant'>) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setIsCopied(true);
    setTimeout(() => setIsCopied(false), 2000);
  };
  const Icon = isCopied ? Check : Copy;
  return (
    <Button variant="secondary" size="small" {...rest} onClick={() => void copy()}>
      <Icon aria-hidden className="size-3.5" />
      <span aria-live="polite">{isCopied ? 'Copied' : label}</span>
    </Button>
  );
}
