import { useMutation } from '@tanstack/react-query';
import { type FileUIPart, generateId } from 'ai';
import { useEffect, useRef, useState } from 'react';
import { type StoredFile, uploadFile } from '../../api/upload-file.js';
import { useOrganization } from '../../session/organization.js';

/** A file that was added to a message which is being written. */
export interface Upload {
  readonly id: string;
  readonly name: string;
  readonly size: number;
  /** The part of the message. Undefined until the file is stored. */
  readonly part?: FileUIPart;
  /** Why the file was not stored. */
  readonly error?: Error;
}

/** The files of a message that is being written. */
export type Uploads = ReturnType<typeof useUploads>;

/** Uploads files as soon as they are added, one after the other: a browser has few connections to the service. */
export function useUploads() {
  const organization = useOrganization();
  const [all, setAll] = useState<readonly Upload[]>([]);
  const requests = useRef(new Map<string, AbortController>());
  const taken = useRef<readonly Upload[]>([]);
  const { mutateAsync: store } = useMutation({
    scope: { id: 'uploads' },
    mutationFn: ({ file, signal }: { readonly file: File; readonly signal: AbortSignal }) =>
      uploadFile(organization, file, signal),
  });
  useEffect(() => {
    const { current } = requests;
    return () => current.forEach((request) => request.abort());
  }, []);

  const change = (id: string, changes: Partial<Upload>): void =>
    setAll((current) => current.map((upload) => (upload.id === id ? { ...upload, ...changes } : upload)));

  const add = (files: Iterable<File>): void => {
    for (const file of files) {
      const id = generateId();
      const request = new AbortController();
      requests.current.set(id, request);
      setAll((current) => [...current, { id, name: file.name, size: file.size }]);
      store({ file, signal: request.signal })
        .then(
          (stored) => change(id, { part: partOf(stored) }),
          (error: Error) => change(id, { error }),
        )
        .finally(() => requests.current.delete(id));
    }
  };

  /** Also ends the upload, if it is in progress. */
  const remove = (id: string): void => {
    requests.current.get(id)?.abort();
    setAll((current) => current.filter((upload) => upload.id !== id));
  };

  /** The parts of the message, which has the files from now on. */
  const take = (): FileUIPart[] => {
    taken.current = [...new Set([...taken.current, ...all])];
    setAll([]);
    return parts;
  };

  /** Undoes `take`: the message with these parts was refused. */
  const giveBack = (refused: readonly FileUIPart[]): void =>
    setAll((current) => [...taken.current.filter(({ part }) => part && refused.includes(part)), ...current]);

  const parts = all.flatMap(({ part }) => (part === undefined ? [] : [part]));
  return { all, parts, areStored: parts.length === all.length, add, remove, take, giveBack };
}

function partOf({ media_type: mediaType, filename, url }: StoredFile): FileUIPart {
  return { type: 'file', mediaType, ...(filename !== null && { filename }), url };
}
