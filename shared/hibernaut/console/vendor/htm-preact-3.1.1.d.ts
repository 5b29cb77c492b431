/** The part of Preact 10 and htm 3 that the console uses. */
export type Child = VNode | string | number | boolean | null | undefined | Child[];
export interface VNode {
  type: unknown;
  props: Record<string, unknown>;
  key: unknown;
}
type Props = Record<string, any> | null;
export function h(type: any, props?: Props, ...children: Child[]): VNode;
export function html(strings: TemplateStringsArray, ...values: any[]): VNode;
export function render(node: Child, parent: Element): void;
export interface Context<T> {
  Provider: (props: { value: T; children?: Child }) => VNode;
}
export function createContext<T>(value: T): Context<T>;
export function useContext<T>(context: Context<T>): T;
export function useState<T>(initial: T | (() => T)): [T, (next: T | ((old: T) => T)) => void];
export function useReducer<S, A>(reducer: (state: S, action: A) => S, initial: S): [S, (action: A) => void];
export function useEffect(effect: () => void | (() => void), inputs?: unknown[]): void;
export function useLayoutEffect(effect: () => void | (() => void), inputs?: unknown[]): void;
export function useRef<T>(initial: T): { current: T };
export function useMemo<T>(make: () => T, inputs?: unknown[]): T;
export function useCallback<F extends (...args: any[]) => any>(f: F, inputs?: unknown[]): F;
export function useErrorBoundary(heard?: (error: Error) => void): [Error | undefined, () => void];
