/* llmcalc from C and every language that calls C: JSON in, JSON out.
 *
 *   char* answer = llmcalc_ask("{\"command\": \"params\", \"model\": \"gpt-3-175b\"}");
 *   puts(answer);
 *   llmcalc_free(answer);
 *
 * A request is {"command", "model", "hardware", "inputs", "style"}: docs/python.md has its keys. The answer has the
 * bytes of 'llmcalc COMMAND --json'. A mistake of any kind, such as a null pointer or text that is not JSON, is
 * answered with {"error": {"key", "message", "exit_code": 2}}; "key" is absent if the message begins with no input's
 * name.
 *
 * Text is UTF-8 and ends with a zero byte. Functions may be called from several threads at once. They read no file that
 * a request names, write no file and read no environment variable.
 */
#ifndef LLMCALC_H
#define LLMCALC_H

#if defined(__GNUC__)
#define LLMCALC_API __attribute__((visibility("default")))
#else
#define LLMCALC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The answer to a request, to be passed to llmcalc_free(); never null. Searches ("plan train") use all cores. */
LLMCALC_API char* llmcalc_ask(const char* request);

/* The answers to many requests, on all cores; freed and never null, like the answer of llmcalc_ask().
 *   [request, ...]                                           a list of answers in this order
 *   {"base": request, "ranges": {key: [value, ...] | "1..64x2", ...}, "fields": ["step.time_s", ...]}
 *   {"base": request, "points": [{key: value, ...}, ...], "fields": [...]}
 * A sweep, "ranges" for every combination or "points", is answered with {"columns": [name, ...], "rows": [[value, ...],
 * ...]}, without the cost of whole answers. Its last column "error" has the reason if a point is impossible. */
LLMCALC_API char* llmcalc_ask_many(const char* requests);

/* Frees an answer; null is allowed. */
LLMCALC_API void llmcalc_free(char* answer);

/* The version, such as "0.2.0"; not to be freed. */
LLMCALC_API const char* llmcalc_version(void);

#ifdef __cplusplus
}
#endif

#endif
