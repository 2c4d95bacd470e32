import { type DragEvent, useState } from 'react';

/** Accepts files that are dragged onto an element. @param onFiles undefined if none are accepted */
export function useFileDrop(onFiles: ((files: Iterable<File>) => void) | undefined) {
  const [isOver, setIsOver] = useState(false);
  const takes = ({ dataTransfer }: DragEvent): boolean => onFiles !== undefined && dataTransfer.types.includes('Files');
  const handlers = {
    onDragOver: (event: DragEvent): void => {
      if (!takes(event)) return;
      // Without this, the browser opens the file in place of the console.
      event.preventDefault();
      setIsOver(true);
    },
    onDragLeave: (event: DragEvent): void => {
      if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setIsOver(false);
    },
    onDrop: (event: DragEvent): void => {
      setIsOver(false);
      if (!takes(event)) return;
      event.preventDefault();
      onFiles?.(event.dataTransfer.files);
    },
  };
  return { isOver, handlers };
}
