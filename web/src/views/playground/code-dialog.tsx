import { Code } from 'lucide-react';
import { useState } from 'react';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Dialog } from '../../ui/dialog.js';
import { Tabs } from '../../ui/tabs.js';
import { curlSample, pythonSample, type SampleInput, typescriptSample } from './code-samples.js';

const LANGUAGES = [
  { id: 'curl', label: 'curl', sample: curlSample },
  { id: 'typescript', label: 'TypeScript', sample: typescriptSample },
  { id: 'python', label: 'Python', sample: pythonSample },
] as const;

/** A button that shows how a program sends the message. */
export function CodeButton({ text, ...rest }: Omit<SampleInput, 'url' | 'org'>) {
  const { url, slug } = useOrganization();
  const [isOpen, setIsOpen] = useState(false);
  const [language, setLanguage] = useState('curl');
  const input: SampleInput = { url, org: slug, text: text.trim() || 'Hello', ...rest };
  return (
    <>
      <Button variant="ghost" size="small" aria-haspopup="dialog" onClick={() => setIsOpen(true)}>
        <Code aria-hidden className="size-3.5" />
        Use in code
      </Button>
      <Dialog
        title="Use in code"
        description="The environment variable API_KEY holds the key. Create one in Keys."
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
        className="w-[min(56rem,94vw)]"
      >
        <Tabs
          label="Language"
          selected={language}
          onSelect={setLanguage}
          tabs={LANGUAGES.map(({ id, label, sample }) => ({
            id,
            label,
            content: () => <CodeBlock text={sample(input)} label={`${label} code`} />,
          }))}
        />
      </Dialog>
    </>
  );
}
