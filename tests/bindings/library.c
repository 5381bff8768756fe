/* The C library as a C program uses it: an example, mistakes of every kind, and several threads at once. Exit code 0 if
 * every check holds. */
#include <llmcalc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void check(int holds, const char* sentence, const char* found) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "fails: %s; got %.300s\n", sentence, found);
}

static void answers(const char* request, const char* part) {
  char* answer = llmcalc_ask(request);
  check(strstr(answer, part) != NULL, part, answer);
  llmcalc_free(answer);
}

/* Both functions refuse the request with an error object that has this part. */
static void refuses(const char* request, const char* part) {
  char* (*const functions[])(const char*) = {llmcalc_ask, llmcalc_ask_many};
  size_t i;
  for (i = 0; i < sizeof functions / sizeof *functions; ++i) {
    char* answer = functions[i](request);
    check(strncmp(answer, "{\n  \"error\": {", 14) == 0 && strstr(answer, "\"exit_code\": 2") != NULL, part, answer);
    check(strstr(answer, part) != NULL, part, answer);
    llmcalc_free(answer);
  }
}

/* `times` copies of `piece`; to be freed. */
static char* repeated(const char* piece, size_t times) {
  const size_t size = strlen(piece);
  char* text = malloc(size * times + 1);
  size_t i;
  if (text == NULL) abort();
  for (i = 0; i < times; ++i) memcpy(text + i * size, piece, size);
  text[size * times] = 0;
  return text;
}

static void refuses_repeated(const char* piece, size_t times, const char* part) {
  char* text = repeated(piece, times);
  refuses(text, part);
  free(text);
}

static void test_example(void) {
  answers("{\"command\": \"params\", \"model\": \"gpt-3-175b\"}", "\"total\": 174604259328");
  answers("{\"command\": \"params\", \"model\": \"gpt2\", \"style\": \"text\"}", "\"text\": \"GPT-2 124M");
  check(strchr(llmcalc_version(), '.') != NULL, "the version has a dot", llmcalc_version());
  llmcalc_free(NULL);
}

static void test_text_that_is_no_request(void) {
  const size_t gigantic = (size_t)100 << 20;
  refuses(NULL, "null pointer");
  refuses("", "unexpected end");
  refuses("{", "unexpected end");
  refuses("null", "\"message\"");
  refuses("\"text\"", "\"message\"");
  refuses("1e999", "outside the range");
  refuses("{\"command\": \"\xff\xfe\"}", "unexpected");
  refuses("{\"command\": \"\xed\xa0\x80\"}", "unexpected");
  refuses("{\"command\": \"params\", \"command\": \"params\"}", "appears twice");
  refuses_repeated("[", 100000, "nested more than");
  refuses_repeated("{\"a\":", 100000, "nested more than");
  refuses_repeated(" ", gigantic, "exceeds the limit");
  refuses_repeated("[1,2],", gigantic / 6, "exceeds the limit");
}

static void test_wrong_types(void) {
  static const char* const values[] = {"null", "-1", "true",        "\"x\"",  "[]",
                                       "[[]]", "{}", "{\"a\": {}}", "-1e308", "\"\\u0000\""};
  static const char* const forms[] = {
      "{\"command\": %s}",
      "{\"command\": \"train\", \"model\": %s, \"hardware\": \"h100\"}",
      "{\"command\": \"train\", \"model\": \"gpt2\", \"hardware\": %s}",
      "{\"command\": \"train\", \"model\": \"gpt2\", \"hardware\": \"h100\", \"inputs\": {\"tp\": %s}}",
      "{\"command\": \"compare\", \"sides\": %s}",
      "{\"command\": \"params\", \"model\": \"gpt2\", \"style\": %s}",
      "{\"base\": %s, \"ranges\": {}}",
      "{\"base\": {\"command\": \"params\", \"model\": \"gpt2\"}, \"points\": %s}",
      "{\"base\": {\"command\": \"params\", \"model\": \"gpt2\"}, \"ranges\": {\"model\": %s}}",
      "{\"base\": {\"command\": \"params\", \"model\": \"gpt2\"}, \"ranges\": {}, \"fields\": [%s]}",
  };
  char request[400];
  size_t f, v;
  for (f = 0; f < sizeof forms / sizeof *forms; ++f)
    for (v = 0; v < sizeof values / sizeof *values; ++v) {
      snprintf(request, sizeof request, forms[f], values[v]);
      refuses(request, "\"message\"");
    }
}

static void test_sweeps(void) {
  char* rows = llmcalc_ask_many(
      "{\"base\": {\"command\": \"train\", \"model\": \"gpt2\", \"hardware\": \"h100\"},"
      " \"ranges\": {\"tp\": [1, 5]}, \"fields\": [\"layout.gpus\"]}");
  check(strncmp(rows, "{\"columns\": [\"tp\",\"layout.gpus\",\"error\"],\n\"rows\": [\n[1, 1, null],\n[5, null, \"",
                70) == 0,
        "a row per point, with the reason of the impossible one", rows);
  llmcalc_free(rows);
}

/* ---- Threads */

enum { thread_count = 8, rounds = 6 };

static const char* const shared_requests[] = {
    "{\"command\": \"train\", \"model\": \"llama-3.1-8b\", \"hardware\": \"h100\", \"inputs\": {\"gpus\": 64, \"tp\": "
    "8}}",
    "{\"command\": \"explain\", \"model\": \"gpt2\", \"hardware\": \"h100\", \"inputs\": {\"quantity\": "
    "\"step.time_s\"}}",
    "{\"command\": \"infer\", \"model\": \"mixtral-8x7b\", \"hardware\": \"h200\"}",
    "{\"command\": \"serve\", \"model\": \"llama-3.1-8b\", \"hardware\": \"h100\", \"inputs\": {\"rate\": 2, "
    "\"num_requests\": 50}}",
    "{\"command\": \"list\", \"inputs\": {\"kind\": \"dtypes\"}}",
    "{\"command\": \"train\", \"model\": \"none\"}",
};
enum { request_count = sizeof shared_requests / sizeof *shared_requests };

struct Asked {
  pthread_t thread;
  char* answers[rounds][request_count];
};

static void* ask_all(void* to) {
  struct Asked* asked = to;
  size_t i, round;
  for (round = 0; round < rounds; ++round)
    for (i = 0; i < request_count; ++i) asked->answers[round][i] = llmcalc_ask(shared_requests[i]);
  return NULL;
}

/* The first test, so that the threads also share the first reading of presets. */
static void test_threads(void) {
  static struct Asked asked[thread_count];
  size_t t, i, round;
  for (t = 0; t < thread_count; ++t)
    if (pthread_create(&asked[t].thread, NULL, ask_all, &asked[t]) != 0) abort();
  for (t = 0; t < thread_count; ++t) pthread_join(asked[t].thread, NULL);
  for (i = 0; i < request_count; ++i) {
    char* alone = llmcalc_ask(shared_requests[i]);
    for (t = 0; t < thread_count; ++t)
      for (round = 0; round < rounds; ++round) {
        check(strcmp(asked[t].answers[round][i], alone) == 0, "threads get the answers of one thread", alone);
        llmcalc_free(asked[t].answers[round][i]);
      }
    llmcalc_free(alone);
  }
}

int main(void) {
  test_threads();
  test_example();
  test_text_that_is_no_request();
  test_wrong_types();
  test_sweeps();
  return failures == 0 ? 0 : 1;
}
