import { useNavigate, useParams } from '@tanstack/react-router';
import { useCallback } from 'react';
import type { Place } from './navigation.js';

/** A function that goes to a place of the organization. */
export function useGo(): (place: Place) => void {
  const { org } = useParams({ from: '/$org' });
  const navigate = useNavigate();
  return useCallback(
    ({ path, search = {} }) => void navigate({ to: `/${org}/${path}`, search: search as never }),
    [navigate, org],
  );
}
