import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { useChange } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { ConfirmButton, Dialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { ErrorMessage } from '../../ui/states.js';
import { useToast } from '../../ui/toast.js';

type Thread = ListItem<'COLLECTION_THREADS_LIST'>;

const MAX_TITLE_LENGTH = 256;

/** Changes the title. Can be undone. */
export function RenameButton({ thread }: { readonly thread: Thread }) {
  const { may } = useOrganization();
  const [title, setTitle] = useState<string>();
  const toast = useToast();
  const update = useChange('COLLECTION_THREADS_UPDATE', ['COLLECTION_THREADS_GET', 'COLLECTION_THREADS_LIST']);
  if (!may('COLLECTION_THREADS_UPDATE')) return null;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const before = thread.title;
    update.mutate(
      { id: thread.id, data: { title: title ?? before } },
      {
        onSuccess: () => {
          setTitle(undefined);
          toast('The thread was renamed.', {
            undo: () => update.mutate({ id: thread.id, data: { title: before } }),
          });
        },
      },
    );
  };
  return (
    <>
      <Button variant="secondary" aria-haspopup="dialog" onClick={() => setTitle(thread.title)}>
        Rename
      </Button>
      <Dialog title="Rename the thread" isOpen={title !== undefined} onClose={() => setTitle(undefined)}>
        <Form error={update.error} isBusy={update.isPending} onSubmit={submit} className="flex flex-col gap-4">
          <TextField label="Title" value={title ?? ''} onChange={setTitle} required maxLength={MAX_TITLE_LENGTH} />
          <ErrorMessage error={update.error} />
          <div className="flex justify-end">
            <Button type="submit" isBusy={update.isPending}>
              Save title
            </Button>
          </div>
        </Form>
      </Dialog>
    </>
  );
}

/** Copies the thread with its finished messages, and opens the copy. */
export function CopyThreadButton({ thread }: { readonly thread: Thread }) {
  const { client, slug, may } = useOrganization();
  const navigate = useNavigate();
  const toast = useToast();
  const copy = useMutation({
    mutationFn: () => client.tool('THREAD_COPY', { id: thread.id }),
    onSuccess: async ({ item }) => {
      await navigate({ to: '/$org/threads/$threadId', params: { org: slug, threadId: item.id } });
      toast('This is the copy. Its runs are its own.');
    },
    onError: (error) => toast(`The thread was not copied. ${error.message}`),
  });
  if (!may('THREAD_COPY')) return null;
  return (
    <Button variant="secondary" isBusy={copy.isPending} onClick={() => copy.mutate()}>
      Copy thread
    </Button>
  );
}

/** Deletes the thread, after asking. */
export function DeleteThreadButton({ thread }: { readonly thread: Thread }) {
  const { slug, may } = useOrganization();
  const navigate = useNavigate();
  const toast = useToast();
  const remove = useChange('COLLECTION_THREADS_DELETE', ['COLLECTION_THREADS_LIST', 'RUN_LIST']);
  if (!may('COLLECTION_THREADS_DELETE')) return null;
  const confirm = async (): Promise<void> => {
    await remove.mutateAsync({ id: thread.id });
    toast(`The thread “${thread.title}” was deleted.`);
    await navigate({ to: '/$org/threads', params: { org: slug } });
  };
  return (
    <ConfirmButton label="Delete thread" title={`Delete “${thread.title}”?`} onConfirm={confirm}>
      This deletes the whole conversation and its runs. It cannot be undone. A thread whose run is in progress cannot be
      deleted: cancel the run first.
    </ConfirmButton>
  );
}
