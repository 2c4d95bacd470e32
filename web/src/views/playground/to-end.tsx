import { ArrowDown } from 'lucide-react';
import { Button } from '../../ui/button.js';
import { cn } from '../../ui/class-names.js';

/** Goes to the newest message. It stands above the end of what scrolls. */
export function ToEndButton({ className, onClick }: { readonly className: string; readonly onClick: () => void }) {
  return (
    <Button
      variant="secondary"
      size="small"
      className={cn('sticky z-5 self-center shadow', className)}
      onClick={() => onClick()}
    >
      <ArrowDown aria-hidden className="size-3.5" />
      To the end
    </Button>
  );
}
