/* The example of llmcalc.h: GPT-3's parameters. */
#include <llmcalc.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  char* answer = llmcalc_ask("{\"command\": \"params\", \"model\": \"gpt-3-175b\"}");
  const int right = strstr(answer, "\"total\": 174604259328") != NULL;
  puts(answer);
  llmcalc_free(answer);
  return right ? 0 : 1;
}
